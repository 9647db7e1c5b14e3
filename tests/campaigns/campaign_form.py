"""The campaign form, filled in."""

from django.urls import reverse

from campaigns.models import Campaign, Endpoint


def cells(version, target, *arms):
    found = {endpoint.scheme: endpoint.pk for endpoint in target.endpoints.all()}
    return [f"{version.pk}.{found[scheme]}.{mode}" for scheme, mode in arms]


def picks(keys):
    """What the pickers say for these tests and no others: plan.endpoint.mode each."""
    plans, endpoints, modes = (
        list(dict.fromkeys(each)) for each in zip(*(key.split(".") for key in keys), strict=True)
    )
    targets = Endpoint.objects.filter(pk__in=endpoints).values_list("target", flat=True)
    combined = {f"{p}.{e}.{m}" for p in plans for e in endpoints for m in modes}
    return {
        "plans": plans,
        "targets": list(targets),
        "offered": list(targets),
        "endpoints": endpoints,
        "modes": modes,
        "left_out": sorted(combined - set(keys)),
    }


def fields(ticked, **more):
    return {
        "name": "HTTPS overhead",
        **picks(ticked),
        "repeats": 3,
        "order": "blocks",
        "pause_s": 1,
        "injectors": 1,
        "practical_threshold": 5,
        "seed": 7,
        **more,
    }


def new_url(project):
    return reverse("campaign-new", args=[project.pk])


def started(client, project, target, version, schemes=("http", "https")) -> Campaign:
    ticked = cells(version, target, *((scheme, "new") for scheme in schemes))
    client.post(new_url(project), fields(ticked, start="1"))
    return Campaign.objects.latest("pk")
