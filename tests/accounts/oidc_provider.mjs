// node oidc_provider.mjs CALLBACK: a real OpenID Connect provider on loopback, which prints its issuer.
// Whoever signs in there is who they say: the address is the account. One that begins with
// "unverified" is not verified.

import { createServer } from "node:http";
import Provider from "oidc-provider";

const [callback] = process.argv.slice(2);
const server = createServer((request, response) => answer(request, response));
let answer;

server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "benchsite", client_secret: "secret", redirect_uris: [callback] }],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "preferred_username"],
    },
    findAccount: (_, email) => ({
      accountId: email,
      claims: () => ({
        sub: email,
        email,
        email_verified: !email.startsWith("unverified"),
        name: `${email.split("@")[0]} of SSO`,
        preferred_username: email.split("@")[0],
      }),
    }),
  });
  answer = provider.callback();
  process.stdout.write(`${issuer}\n`);
});
process.stdin.resume().on("end", () => process.exit());
