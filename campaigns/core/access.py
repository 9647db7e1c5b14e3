"""Shared by all page views: the actor, visible rows, and answers to refusals and to the signed out.
Pages take no API token: a program that sends one is told so, and gets no sign-in page. A posted
form on its way to the service that saves it: what the service finds wrong with it, and what others
changed since it was opened."""

from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.functional import SimpleLazyObject
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)
from rest_framework.authentication import get_authorization_header

from campaigns.core.forms import CheckedForm
from campaigns.core.permissions import Action, Actor, project_of, require, rights
from campaigns.core.transfer import client_address
from campaigns.domain.errors import ChangedMeanwhile, InvalidFields, Refused
from campaigns.domain.typed_text import Content, version_token
from campaigns.domain.units import and_joined
from campaigns.models import Project

# In the sign-in's address, and in that of the form after it, whatever steps are between: by the
# latter lib/typed.js knows that what was typed is still wanted.
UNDONE = "undone"
NOTHING_DONE = "You were signed out before this was saved. Try again."


class SignedOutMiddleware(MiddlewareMixin):
    """Who signs in then comes back to the page that had the form, which says that nothing was
    done. The form's own address often takes forms only, and has no page."""

    def process_response(self, request, response):
        where = urlsplit(response.headers.get("Location", ""))
        is_to_sign_in = where.path == resolve_url(settings.LOGIN_URL)
        if request.method != "POST" or not (is_to_sign_in and where.query.startswith("next=")):
            return response
        if "X-Requested-With" in request.headers:  # a script's, which says so itself
            return response
        messages.error(request, NOTHING_DONE)
        # Where the form was; without a Referer the projects.
        page = request.headers.get("Referer", "")
        if url_has_allowed_host_and_scheme(page, {request.get_host()}, request.is_secure()):
            page = urlsplit(page)._replace(scheme="", netloc="", fragment=UNDONE).geturl()
        else:
            page = resolve_url(settings.LOGIN_REDIRECT_URL)
        return redirect_to_login(page, f"{resolve_url(settings.LOGIN_URL)}?{UNDONE}=1")


# For pages that show a form and take it; those that only show use `require_safe`.
takes_a_form = require_http_methods(["GET", "HEAD", "POST"])


def _signed_in(limit: Callable[..., Any]):
    """Decorates a view for those who have signed in. Given rows, a model or a queryset of one, it
    is a view of the row that the address names, which it gets after the request and who asks, and
    before what else is named; `right`: what one must be allowed to do in the row's project."""

    def decorator(rows: Any, right: Action | None = None):
        if isinstance(rows, FunctionType):
            return limit(rows)

        def decorate(view):
            @wraps(view)
            def answering(request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
                pk, *more = kwargs.values()
                actor = actor_of(request)
                row = find(rows, actor, pk=pk)
                if right is not None:
                    require(actor, right, project_of(row))
                return view(request, actor, row, *more)

            return limit(answering)

        return decorate

    return decorator


signed_in_get = _signed_in(lambda view: login_required(require_GET(view)))
signed_in_post = _signed_in(lambda view: login_required(require_POST(view)))
signed_in_safe = _signed_in(lambda view: require_safe(login_required(view)))
signed_in_form = _signed_in(lambda view: takes_a_form(login_required(view)))


def actor_of(request) -> Actor:
    """The signed-in user as an actor; an anonymous actor otherwise."""
    return Actor(user=request.user if request.user.is_authenticated else None)


def client_address_of(request) -> str:
    """The address that wrong passwords are counted for."""
    return client_address(request.META, settings.TRUSTED_PROXIES)


def find(rows, actor: Actor, **lookup):
    """The one row that the actor can see, or a 404. `rows` is a model or a queryset of one."""
    queryset = getattr(rows, "objects", rows)
    return get_object_or_404(queryset.visible_to(actor), **lookup)


def whole(text: str) -> int:
    """A row's number in an address or a form; 0 of what is none."""
    return int(text) if text.isdecimal() and len(text) < 19 else 0


def rights_in(project, actor: Actor) -> dict[str, bool]:
    """The rights by which templates show buttons: {"edit": True, "run": …}."""
    allowed = rights(actor, project)
    return {str(action): action in allowed for action in Action}


def for_administrators(view):
    """To everybody else the page does not exist."""

    @login_required
    @wraps(view)
    def answering(request: HttpRequest, **kwargs) -> HttpResponse:
        if not actor_of(request).is_administrator:
            raise Http404
        return view(request, **kwargs)

    return answering


def answers_refusals(redirect_to: str | Callable[..., str]):
    """For POST views: turns a Refused into a message and a redirect to `redirect_to`. A name is
    reversed with the view's keyword arguments; a function gets request and arguments."""

    def decorate(view):
        @wraps(view)
        def answering(request, **kwargs):
            try:
                return view(request, **kwargs)
            except Refused as refusal:
                messages.error(request, str(refusal))
                if callable(redirect_to):
                    return redirect(redirect_to(request, **kwargs))
                return redirect(redirect_to, **kwargs)

        return answering

    return decorate


def acts_on(rows, page: str, key: str = "pk", part: str = ""):
    """A POST that does one thing to the row of `rows` that the address names. The view gets the
    request, who asks and the row. What it returns, or why it was refused, is said on the `page` of
    that name, whose number is the row's `key`, at its `part`; a response is answered as it is."""

    def decorate(view):
        @signed_in_post(rows)
        @wraps(view)
        def answering(request: HttpRequest, actor: Actor, row: Any) -> HttpResponse:
            try:
                response = view(request, actor, row)
            except Refused as refusal:
                response = messages.error(request, str(refusal))
            if isinstance(response, HttpResponse):
                return response
            if response:
                messages.success(request, response)
            return redirect(f"{reverse(page, args=[getattr(row, key)])}{part}")

        return answering

    return decorate


class BearerMiddleware(MiddlewareMixin):
    """401 where a request with `Authorization: Bearer …` would get the sign-in page. Addresses that
    need no account answer as always."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        is_bearer = get_authorization_header(request).lower().startswith(b"bearer")
        if not (is_bearer and _is_sign_in(request, response)):
            return response
        message = f"Pages take no API token. The REST API has the same data: {reverse('api-docs')}"
        error = {"code": "unauthenticated", "message": message, "fields": {}}
        headers = {"WWW-Authenticate": 'Bearer realm="benchsite"'}
        return JsonResponse({"error": error}, status=401, headers=headers)


def _is_sign_in(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether it is a sign-in page or the way to one: ours, or that of the staff's site."""
    is_page = request.resolver_match and request.resolver_match.url_name in {
        settings.LOGIN_URL,
        "login",
    }
    return bool(is_page) or urlsplit(response.get("Location", "")).path.endswith("/login/")


_T = TypeVar("_T")


def saved_by(form: CheckedForm, service: Callable[..., _T], /, **kwargs: Any) -> _T | None:
    """What the service makes of the form's fields and of `kwargs`. None without a form that was
    posted, and with one that has errors or is refused, which it then shows."""
    if not form.is_valid():
        return None
    try:
        return service(**kwargs, **form.fields_of_service())
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except Refused as refusal:
        form.take_refusal(str(refusal))
    return None


class Edit:
    """The edit of something stored, from the opening of its form to its saving.
    `parts/changed.html` carries what the form was `opened` with. If saving it would put back what
    others changed since, it is shown once more as it was typed, with what they `changed`, and
    carries what is stored by now: so who saves that replaces what they have seen, and no more."""

    def __init__(
        self, request: HttpRequest, stored: Callable[[], Content], labels: Mapping[str, str]
    ):
        """`labels`: what the page calls each part. Make it before the form is filled in: then the
        form may be newer than it says, and never older."""
        is_new = request.method != "POST"
        self.opened = version_token(stored()) if is_new else request.POST.get("opened")
        self.changed = ""
        self._labels = labels

    def save(self, service: Callable[..., _T], **kwargs: Any) -> _T | None:
        """What the service gives; None if others changed meanwhile what it would replace."""
        try:
            return service(**kwargs, opened=self.opened)
        except ChangedMeanwhile as changed:
            self.opened = changed.now
            labels = [self._labels[path] for path in changed.paths if self._labels.get(path)]
            self.changed = and_joined(list(dict.fromkeys(labels))) or "what it says"
            return None

    def status(self, errors: object) -> int:
        """Of the answer that shows the form."""
        return 409 if self.changed else 422 if errors else 200


def render_page(
    request: HttpRequest, template: str, project: Project | None = None, **context: Any
) -> HttpResponse:
    """A page, of a project with what its reader may do there, which costs a statement where the
    template asks. Its status is that of its `form`, or of the `edit` that has it."""
    form, edit = context.get("form"), context.get("edit")
    errors = form.errors if form else None
    status = edit.status(errors) if edit else 422 if errors else 200
    may = SimpleLazyObject(lambda: rights_in(project, actor_of(request)) if project else {})
    context = {"project": project, "may": may, "edit": edit, **context}
    return render(request, template, context, status=status)


def labels_of(form: type[forms.Form] | forms.Form) -> dict[str, str]:
    fields = getattr(form, "base_fields", {}) | getattr(form, "fields", {})
    return {name: str(each.label or name.capitalize()) for name, each in fields.items()}
