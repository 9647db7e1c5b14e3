"""The members of a project and its invitations; the page of an invitation's link."""

from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from campaigns.accounts import services
from campaigns.accounts.forms import InvitationForm, JoinForm, MemberForm, RoleForm
from campaigns.accounts.models import Invitation
from campaigns.core.access import (
    actor_of,
    acts_on,
    rights_in,
    saved_by,
    signed_in_form,
    takes_a_form,
)
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Refused
from campaigns.items.queries import items as queries
from campaigns.models import Membership, Project
from campaigns.projects import services as projects


@never_cache
@signed_in_form(Project, Action.VIEW)
def project_members(request: HttpRequest, actor: Actor, project: Project) -> HttpResponse:
    """`do` says which form is posted: an invitation's link is only in the answer to it."""
    is_invitation = request.POST.get("do") == "invite"
    posted = request.POST or None
    form = MemberForm(None if is_invitation else posted)
    inviting = InvitationForm(posted if is_invitation else None, sends_email=settings.HAS_EMAIL)
    if request.method == "POST":
        require(actor, Action.MANAGE, project)
    made = saved_by(inviting, lambda values: services.invite(by=actor, project=project, **values))
    if posted and not is_invitation and form.is_valid() and _added(form, actor, project):
        messages.success(request, f"{form.cleaned_data['username']} is now a member.")
        return redirect("project-members", project=project.pk)
    context = {
        "project": project,
        "members": queries.members_of(project),
        "invitations": services.open_invitations(project),
        "form": form,
        "inviting": inviting,
        "has_email": settings.HAS_EMAIL,
        "roles": queries.ROLES,
        "may": rights_in(project, actor),
    }
    if made:
        invitation, secret = made
        address = request.build_absolute_uri(reverse("invitation-accept", args=[secret]))
        is_sent = bool(
            settings.HAS_EMAIL
            and invitation.email
            and services.send_invitation(invitation, address)
        )
        unsent = settings.HAS_EMAIL and invitation.email and not is_sent
        context |= {"made": invitation, "address": address, "is_sent": is_sent, "unsent": unsent}
        context["inviting"] = InvitationForm(sends_email=settings.HAS_EMAIL)
    status = 422 if form.errors or inviting.errors else 200
    return render(request, "accounts/members.html", context, status=status)


def _added(form: MemberForm, actor: Actor, project: Project) -> bool:
    """Whether the person was added; otherwise the form has the error at the name."""
    try:
        projects.add_member(by=actor, project=project, **form.cleaned_data)
    except Refused as refusal:
        form.add_error("username", str(refusal))
        return False
    return True


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
            return _accepted(request, actor, secret)
        context = {"invitation": invitation, "roles": queries.ROLES}
        return _private(render(request, "accounts/invitation.html", context))
    form = JoinForm(request.POST or None, initial={"email": invitation.email})
    user = saved_by(form, lambda values: services.join(secret=secret, **values))
    if user:
        where = reverse("campaign-list", args=[invitation.project_id])
        return perform_login(request, user, email_verification="none", redirect_url=where)
    context = {"invitation": invitation, "roles": queries.ROLES, "form": form}
    status = 422 if form.errors else 200
    return _private(render(request, "accounts/invitation.html", context, status=status))


def _accepted(request: HttpRequest, actor: Actor, secret: str) -> HttpResponse:
    try:
        project = services.accept_invitation(by=actor, secret=secret)
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect("project-list")
    messages.success(request, f"Welcome to {project.name}.")
    return redirect("campaign-list", project=project.pk)


def _private(response: HttpResponse) -> HttpResponse:
    """The address has the secret. Other sites get no referrer of any page of ours; without one for
    our own, browsers would name no origin, and the form would be refused."""
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response
