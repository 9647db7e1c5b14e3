"""A rule for passwords that Django does not have."""

import re

from django.core.exceptions import ValidationError

_LEAST = 6
_NO_LETTER = re.compile(r"[\W_]+")


class NotTheUserName:
    """Refuses chpass-chpass for chpass: without the name, six letters or digits must be left."""

    def validate(self, password: str, user=None) -> None:
        name = user.get_username() if user else ""
        if name and len(_NO_LETTER.sub("", _without(name, password))) < _LEAST:
            raise ValidationError(
                f"Without your user name this password has fewer than {_LEAST} letters and digits.",
                code="password_is_the_name",
            )

    def get_help_text(self) -> str:
        return f"Without your user name it has at least {_LEAST} letters and digits."


def _without(name: str, password: str) -> str:
    return re.sub(re.escape(name), "", password, flags=re.IGNORECASE)
