// Node's own server of HTTP/2; a line of its log for each request that it answered.
import { createWriteStream, readFileSync } from 'node:fs';
import { createSecureServer, createServer } from 'node:http2';

const [port, tlsPort, certificate, key, log, largeBytes, small] = process.argv.slice(2);
const lines = createWriteStream(log, { flags: 'a' });
const replies = {
  '/': [200, Buffer.from(small)],
  '/large': [200, Buffer.alloc(Number(largeBytes), 'x')],
};
let connections = 0;

function serve(server, at) {
  server.on('session', (session) => {
    session.number = ++connections;
  });
  server.on('stream', (stream, headers) => {
    const number = stream.session.number;
    const [status, body] = replies[headers[':path']] ?? [404, Buffer.from('not here')];
    stream.on('error', () => {});
    stream.respond({ ':status': status, 'content-length': body.length });
    stream.end(body, () => lines.write(`${status} ${body.length} ${number} HTTP/2.0\n`));
  });
  server.listen(Number(at), '127.0.0.1');
}

serve(createServer(), port);
serve(createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key) }), tlsPort);
