"""The campaign form, filled in."""

from django.urls import reverse

from campaigns.models import Campaign, Endpoint


def cells(version, target, *arms):
    endpoints = {endpoint.scheme: endpoint.pk for endpoint in target.endpoints.all()}
    return [f"{version.pk}.{endpoints[scheme]}.{mode}" for scheme, mode in arms]


def picks(keys):
    """What the pickers say for these tests and no others: plan.endpoint.mode each."""
    plans, endpoints, modes = (
        list(dict.fromkeys(each)) for each in zip(*(key.split(".") for key in keys), strict=True)
    )
    targets = Endpoint.objects.filter(pk__in=endpoints).values_list("target", flat=True)
    keys_of_grid = {f"{p}.{e}.{m}" for p in plans for e in endpoints for m in modes}
    return {
        "plans": plans,
        "targets": list(targets),
        "offered": list(targets),
        "endpoints": endpoints,
        "modes": modes,
        "left_out": sorted(keys_of_grid - set(keys)),
    }


def fields(ticks, **more):
    return {
        "name": "HTTPS overhead",
        **picks(ticks),
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


def start_by_form(client, project, target, version, schemes=("http", "https")) -> Campaign:
    ticks = cells(version, target, *((scheme, "new") for scheme in schemes))
    client.post(new_url(project), fields(ticks, start="1"))
    return Campaign.objects.latest("pk")
