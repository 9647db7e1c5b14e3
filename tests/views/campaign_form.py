"""The campaign form, filled in."""

from django.urls import reverse

from campaigns.models import Campaign


def cells(version, target, *arms):
    found = {endpoint.scheme: endpoint.pk for endpoint in target.endpoints.all()}
    return [f"{version.pk}.{found[scheme]}.{mode}" for scheme, mode in arms]


def fields(ticked, **more):
    return {
        "name": "HTTPS overhead",
        "cells": ticked,
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
