"""Measurement, target and precision are judged apart. Older runs get their answers from the codes
that they were judged by; the table is a copy, because the product's own may change."""

from django.db import migrations, models

DOUBTS = {"suspicious": "doubtful", "invalid": "not_usable"}
MEASUREMENT = {
    "lateness_p99", "cpu", "cpu_5s", "run_delay", "hub_lag", "hub_lag_p99", "steal", "other_cpu",
    "gc_pause", "gc_share", "open_files", "ports", "swapped", "clock_step", "starts_apart", "link",
    "packets_lost", "injector_exhausted", "little", "missing_seconds", "in_doubt",
}  # fmt: skip
TARGET = {
    "no_success": "failing",
    "errors": "failing",
    "only_redirects": "failing",
    "target_saturated": "overloaded",
    "sent_share": "overloaded",
    "dropped": "overloaded",
    "slot_wait": "overloaded",
    "resent": "overloaded",
    "slowing_down": "changing",
    "warming_up": "changing",
    "body_changed": "changing",
}
UNSENT = {"sent_share", "dropped", "slot_wait"}
WORST_LAST = ("healthy", "changing", "overloaded", "failing")
IN_DOUBT = "While the injector is in doubt, the target is not judged."
NOTHING = "No request ended, so nothing is known about the target."
NO_FIGURES = "No response times: no request succeeded."


def judged_again(reasons):
    """The judgement of a run by its stored reasons, [{code, validity, text, …}], worst first."""
    measurement = [
        as_reason(each, DOUBTS[each["validity"]]) for each in reasons if each["code"] in MEASUREMENT
    ]
    others = [each for each in reasons if each["code"] in TARGET]
    if measurement:
        measurement += [
            as_reason(each, DOUBTS[each["validity"]]) for each in others if each["code"] in UNSENT
        ]
        measurement.sort(key=lambda each: each["state"] != "not_usable")
    codes = {each["code"] for each in reasons}
    return {
        "measurement": {
            "state": measurement[0]["state"] if measurement else "trusted",
            "reasons": measurement,
        },
        "target": target_of(others, codes, is_in_doubt=bool(measurement)),
        "precision": precision_of(reasons, codes),
        "notes": [as_reason(each, "") for each in reasons if each["code"] == "co_located"],
    }


def target_of(reasons, codes, *, is_in_doubt):
    if is_in_doubt or "no_requests" in codes:
        text = IN_DOUBT if is_in_doubt else NOTHING
        return {"state": None, "reasons": [as_reason({"code": "not_judged", "text": text}, "")]}
    found = [as_reason(each, TARGET[each["code"]]) for each in reasons]
    found.sort(key=lambda each: -WORST_LAST.index(each["state"]))
    return {"state": found[0]["state"] if found else "healthy", "reasons": found}


def precision_of(reasons, codes):
    if codes & {"no_requests", "no_success"}:
        reason = as_reason({"code": "no_requests", "text": NO_FIGURES, "value": 0}, "none")
        return {"state": "none", "reasons": [reason]}
    few = [as_reason(each, "coarse") for each in reasons if each["code"] == "too_few_requests"]
    return {"state": "coarse" if few else "fine", "reasons": few}


def as_reason(old, state):
    values = {name: old.get(name) for name in ("value", "limit", "second")}
    return {"code": old["code"], "state": state, "text": old["text"], **values}


def answer_three_questions(apps, schema_editor):
    runs = apps.get_model("campaigns", "Run").objects.filter(validity__isnull=False)
    answered = []
    for run in runs.only("validity_reasons").order_by("pk").iterator(chunk_size=500):
        found = judged_again(run.validity_reasons)
        run.judgement = found
        run.trust = found["measurement"]["state"]
        run.target_state = found["target"]["state"]
        run.precision = found["precision"]["state"]
        answered.append(run)
        if len(answered) == 500:
            save(runs, answered)
    save(runs, answered)


def save(runs, answered):
    fields = ["judgement", "trust", "target_state", "precision"]
    runs.model.objects.bulk_update(answered, fields)
    answered.clear()


def _choices(*words):
    return [(word, word) for word in words]


class Migration(migrations.Migration):
    dependencies = [("campaigns", "0009_saved_plan")]

    operations = [
        migrations.AddField(
            "run",
            "trust",
            models.CharField(
                blank=True,
                choices=_choices("trusted", "doubtful", "not_usable"),
                max_length=10,
                null=True,
            ),
        ),
        migrations.AddField(
            "run",
            "target_state",
            models.CharField(
                blank=True,
                choices=_choices("healthy", "changing", "overloaded", "failing"),
                max_length=10,
                null=True,
            ),
        ),
        migrations.AddField(
            "run",
            "precision",
            models.CharField(
                blank=True, choices=_choices("none", "coarse", "fine"), max_length=10, null=True
            ),
        ),
        migrations.AddField("run", "judgement", models.JSONField(blank=True, null=True)),
        migrations.RunPython(answer_three_questions, migrations.RunPython.noop),
        migrations.RemoveField("run", "validity"),
        migrations.RemoveField("run", "validity_reasons"),
    ]
