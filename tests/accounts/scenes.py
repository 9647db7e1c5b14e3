"""What the tests of accounts share: codes of authenticator apps, a passkey that no device
has, and what an e-mail links to."""

import re
import time
from email.message import Message

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.auth.models import User
from fido2 import webauthn
from fido2.cose import ES256

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def add_app(user: User) -> Authenticator:
    """An authenticator app with SECRET, and recovery codes."""
    app = TOTP.activate(user, SECRET).instance
    RecoveryCodes.activate(user)
    return app


def code_now(secret: str = SECRET) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30))


def wrong_code() -> str:
    return f"{(int(code_now()) + 500_000) % 1_000_000:06}"


def add_passkey(user: User, name: str = "Laptop") -> Authenticator:
    """As a browser answers, without the device that would sign by it."""
    key = ES256.from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    number = f"{user.pk:016}".encode()
    credential = webauthn.AttestedCredentialData.create(webauthn.Aaguid.NONE, number, key)
    flags = webauthn.AuthenticatorData.FLAG.UP | webauthn.AuthenticatorData.FLAG.AT
    data = webauthn.AuthenticatorData.create(b"\0" * 32, flags, 0, credential)
    answer = webauthn.AuthenticatorAttestationResponse(
        client_data=webauthn.CollectedClientData.create(
            "webauthn.create", b"challenge", "http://localhost"
        ),
        attestation_object=webauthn.AttestationObject.create("none", data, {}),
    )
    registration = dict(webauthn.RegistrationResponse(raw_id=number, response=answer))
    return Authenticator.objects.create(
        user=user, type="webauthn", data={"name": name, "credential": registration}
    )


def stored_secret(app: Authenticator) -> str:
    return get_adapter().decrypt(app.data["secret"])


def link_in(message: Message) -> str:
    """The path of the only link."""
    text = message.get_payload(decode=True).decode()
    (link,) = re.findall(r"https?://[^/\s]+(/\S+)", text)
    return link
