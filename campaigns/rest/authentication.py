"""Authenticates API requests by personal token or browser session. The token is read only from the
Authorization header: browsers send cookies with any request. Writes in a session need Django's
CSRF token."""

from django.conf import settings
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.authentication import SessionAuthentication as SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.throttling import SimpleRateThrottle

from campaigns.accounts.tokens import authenticate_token
from campaigns.core.transfer import client_address

_WRONG_FORM = "The header must be `Authorization: Bearer bs_pat_…`."
_NOT_LIVE = "This token is unknown, expired or revoked. Create a new one under Account, Tokens."


class FailedTokens(SimpleRateThrottle):
    """Counts wrong tokens per address and web process; valid tokens are never throttled."""

    scope = "failed-tokens"
    rate = "30/min"

    def get_cache_key(self, request, view) -> str:
        ident = client_address(request.META, settings.TRUSTED_PROXIES)
        return self.cache_format % {"scope": self.scope, "ident": ident}


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer bs_pat_…`; the token's row becomes `request.auth`."""

    keyword = "Bearer"

    def authenticate(self, request):
        words = get_authorization_header(request).decode("latin-1").split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != self.keyword.lower():
            raise AuthenticationFailed(_WRONG_FORM)
        token = authenticate_token(text=words[1])
        if token is None:
            throttle = FailedTokens()
            if not throttle.allow_request(request, None):
                raise Throttled(throttle.wait())
            raise AuthenticationFailed(_NOT_LIVE)
        return token.user, token

    def authenticate_header(self, request) -> str:
        return f'{self.keyword} realm="benchsite"'
