"""*Users*, for administrators: who has an account, how they sign in, and when they were here.

The members of a project and its invitations; the page of an invitation's link."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import django_filters
from allauth.account.utils import perform_login
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import F, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from campaigns.accounts import services
from campaigns.accounts.forms import InvitationForm, JoinForm, MemberForm, RoleForm, UserForm
from campaigns.accounts.models import Invitation
from campaigns.accounts.tokens import live_tokens
from campaigns.core.access import (
    actor_of,
    acts_on,
    answers_refusals,
    for_administrators,
    render_page,
    saved_by,
    signed_in_form,
    takes_a_form,
)
from campaigns.core.pages import sorted_by
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Refused
from campaigns.domain.units import and_joined, counted
from campaigns.items.queries import items as queries
from campaigns.items.queries.filters import ListFilterSet
from campaigns.items.views.lists import Chip, list_context
from campaigns.models import Membership, Project, Schedule
from campaigns.projects import services as projects

STATES = {"active": "Active", "disabled": "Disabled", "administrators": "Administrators"}
_STATES = {
    "active": Q(is_active=True),
    "disabled": Q(is_active=False),
    "administrators": Q(is_superuser=True),
}


class UserFilterSet(ListFilterSet):
    search = django_filters.CharFilter(method="filter_search")
    state = django_filters.ChoiceFilter(
        choices=list(STATES.items()), method=lambda rows, _, value: rows.filter(_STATES[value])
    )

    class Meta:
        model = User
        fields: Sequence[str] = ()

    def filter_search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        conditions = [
            Q(**{f"{each}__icontains": value}) for each in ("username", "first_name", "email")
        ]
        return rows.filter(conditions[0] | conditions[1] | conditions[2])


def _with_ways(users: Iterable[User]) -> list[User]:
    """Each with how they can sign in (`ways`, in words), the number of their projects and when they
    were here last. In three statements, whatever their number."""
    users = list(users)
    factors: dict[int, list[str]] = defaultdict(list)
    for owner, kind in Authenticator.objects.filter(user__in=users).values_list("user", "type"):
        factors[owner].append(kind)
    social_ids = set(SocialAccount.objects.filter(user__in=users).values_list("user", flat=True))
    n_projects = Counter(Membership.objects.filter(user__in=users).values_list("user", flat=True))
    for user in users:
        n_passkeys = factors[user.pk].count(Authenticator.Type.WEBAUTHN)
        ways = {
            "password": user.has_usable_password(),
            counted(n_passkeys, "passkeys"): n_passkeys,
            "authenticator app": Authenticator.Type.TOTP in factors[user.pk],
            "single sign-on": user.pk in social_ids,
        }
        names = [way for way, is_there in ways.items() if is_there]
        user.ways = and_joined(names) if names else ""
        user.n_projects = n_projects[user.pk]
        user.seen_at = user.last_seen.at if hasattr(user, "last_seen") else user.last_login
    return users


@for_administrators
@require_GET
def user_list(request: HttpRequest) -> HttpResponse:
    rows = User.objects.select_related("last_seen")
    chips = [Chip("state", "State", list(STATES.items()))]
    context = list_context(
        request,
        UserFilterSet,
        sorted_by(rows, F("username"), falls=False),
        chips,
        nouns="users",
        finds="Find a user",
    )
    return render(request, "accounts/users.html", context | {"rows": _with_ways(context["page"])})


@never_cache
@takes_a_form
@for_administrators
def user_new(request: HttpRequest) -> HttpResponse:
    actor = actor_of(request)
    form = UserForm(request.POST or None)
    if user := saved_by(form, services.create_account, by=actor):
        return _page(request, user, link=_link(request, user))
    return render_page(request, "accounts/user_new.html", form=form)


def _link(request: HttpRequest, user: User) -> str:
    uid, key = services.make_reset_link(by=actor_of(request), user=user)
    path = reverse("account_reset_password_from_key", kwargs={"uidb36": uid, "key": key})
    return request.build_absolute_uri(path)


@for_administrators
@never_cache
@require_GET
def user_detail(request: HttpRequest, user: int) -> HttpResponse:
    return _page(request, _user_of_page(user))


def _user_of_page(pk: int) -> User:
    return get_object_or_404(User.objects.select_related("last_seen"), pk=pk)


def _page(request: HttpRequest, user: User, link: str = "") -> HttpResponse:
    schedules = Schedule.objects.filter(owner=user, next_at__isnull=False)
    context = {
        # Not "user": pages know who is signed in by this name.
        "person": _with_ways([user])[0],
        "memberships": Membership.objects.filter(user=user).select_related("project"),
        "n_factors": Authenticator.objects.filter(user=user).count(),
        "n_tokens": live_tokens(user).count(),
        "n_schedules": schedules.count(),
        "link": link,
        "days": counted(settings.PASSWORD_RESET_TIMEOUT // 86400, "days"),
    }
    return render(request, "accounts/user.html", context)


@for_administrators
@never_cache
@require_POST
@answers_refusals("user-detail")
def user_action(request: HttpRequest, user: int) -> HttpResponse:
    """`do` is link, disable, enable, promote, demote or unlock."""
    actor, account = actor_of(request), _user_of_page(user)
    match request.POST.get("do"):
        case "link":
            return _page(request, account, link=_link(request, account))
        case "disable" | "enable" as word:
            services.set_active(by=actor, user=account, is_active=word == "enable")
            message = f"{account} is {word}d."
        case "promote" | "demote" as word:
            services.set_administrator(by=actor, user=account, is_administrator=word == "promote")
            message = (
                f"{account} is {'now' if word == 'promote' else 'no longer'} an administrator."
            )
        case "unlock":
            services.remove_factors(by=actor, user=account)
            message = f"{account} signs in by password alone."
        case _:
            raise Http404
    messages.success(request, message)
    return redirect("user-detail", user=account.pk)


@never_cache
@signed_in_form(Project, Action.VIEW)
def project_members(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """`do` says which form is posted: an invitation's link is only in the answer to it."""
    is_invitation = request.POST.get("do") == "invite"
    data = request.POST or None
    form = MemberForm(None if is_invitation else data)
    inviting = InvitationForm(data if is_invitation else None, sends_email=settings.HAS_EMAIL)
    if request.method == "POST":
        require(actor, Action.MANAGE, project)
    result = saved_by(inviting, services.invite, by=actor, project=project)
    if saved_by(form, projects.add_member, by=actor, project=project):
        messages.success(request, f"{form.cleaned_data['username']} is now a member.")
        return redirect("project-members", project=project.pk)
    context = {
        "members": project.memberships.select_related("user"),
        "invitations": services.open_invitations(project),
        "form": form,
        "inviting": inviting,
        "has_email": settings.HAS_EMAIL,
        "roles": queries.ROLES,
    }
    if result:
        invitation, secret = result
        address = request.build_absolute_uri(reverse("invitation-accept", args=[secret]))
        is_sent = bool(
            settings.HAS_EMAIL
            and invitation.email
            and services.send_invitation(invitation, address)
        )
        unsent = settings.HAS_EMAIL and invitation.email and not is_sent
        context |= {"made": invitation, "address": address, "is_sent": is_sent, "unsent": unsent}
        context["inviting"] = InvitationForm(sends_email=settings.HAS_EMAIL)
    response = render_page(request, "accounts/members.html", project, **context)
    response.status_code = 422 if form.errors or inviting.errors else 200
    return response


@acts_on(Membership, "project-members", "project_id")
def membership_role(request: HttpRequest, by: Actor, membership: Membership) -> str:
    form = RoleForm(request.POST)
    if not form.is_valid():
        raise Refused("Choose one of the four roles.")
    projects.change_role(by=by, membership=membership, role=form.cleaned_data["role"])
    return f"{membership.user} is now {form.cleaned_data['role']}."


@acts_on(Membership, "project-members", "project_id")
def membership_remove(request: HttpRequest, by: Actor, membership: Membership) -> str:
    projects.remove_member(by=by, membership=membership)
    return f"{membership.user} is no longer a member."


@acts_on(Invitation.objects.select_related("project"), "project-members", "project_id")
def invitation_revoke(request: HttpRequest, by: Actor, invitation: Invitation) -> str:
    services.revoke_invitation(by=by, invitation=invitation)
    return "The invitation is revoked. Its link no longer works."


@takes_a_form
@never_cache
def invitation_accept(request: HttpRequest, secret: str) -> HttpResponse:
    """Who is signed in joins; who is not signs in or creates an account."""
    invitation = services.find_invitation(secret)
    if invitation is None:
        return _private(render(request, "accounts/dead_invitation.html", status=404))
    actor = actor_of(request)
    if actor.is_member:
        if request.method == "POST":
            try:
                project = services.accept_invitation(by=actor, secret=secret)
            except Refused as refusal:
                messages.error(request, str(refusal))
                return redirect("project-list")
            messages.success(request, f"Welcome to {project.name}.")
            return redirect("campaign-list", project=project.pk)
        context = {"invitation": invitation, "roles": queries.ROLES}
        return _private(render(request, "accounts/invitation.html", context))
    form = JoinForm(request.POST or None, initial={"email": invitation.email})
    if user := saved_by(form, services.join, secret=secret):
        where = reverse("campaign-list", args=[invitation.project_id])
        return perform_login(request, user, email_verification="none", redirect_url=where)
    context = {"invitation": invitation, "roles": queries.ROLES, "form": form}
    return _private(render_page(request, "accounts/invitation.html", **context))


def _private(response: HttpResponse) -> HttpResponse:
    """The address has the secret. Other sites get no referrer of any page of ours; without one for
    our own, browsers would name no origin, and the form would be refused."""
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
