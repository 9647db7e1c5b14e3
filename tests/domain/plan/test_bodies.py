"""Faults of what a request sends, each at its field."""

import base64

from campaigns.domain.plan.body import (
    MAX_FIELDS,
    MAX_FILE_BYTES,
    MAX_FILES_BYTES,
    digests_in,
    with_bodies,
)
from campaigns.domain.plan.step import MAX_STEPS
from tests.domain.plan.reading import faults, read

FILE = base64.b64encode(b"png").decode()
DIGEST = "ab" * 32


def test_a_fault_of_a_step_is_at_its_field():
    for step, place, why in [
        ({"body": "a", "form": [["a", "b"]]}, "body", "Write one of"),
        ({"headers": [["a"]]}, "headers", "Write headers as pairs"),
        ({"form": [["a"]]}, "form", "Write form fields as pairs"),
        ({"form": [["a", "b"]] * (MAX_FIELDS + 1)}, "form", "A form has at most"),
        ({"multipart": "a"}, "multipart", "Write a list of fields"),
        ({"multipart": [{"name": "a", "file": ""}]}, "multipart.0.file", "Write the bytes as"),
        (
            {"multipart": [{"name": "a", "file": FILE, "value": "b"}]},
            "multipart.0.value",
            "A field has a value or a file",
        ),
        (
            {"multipart": [{"name": "a", "value": "b", "content_type": "é"}]},
            "multipart.0.content_type",
            "Write it as in image/png",
        ),
        ({"body_file": 7}, "body_file", "Write the bytes as base64"),
        ({"body_file": "not base64"}, "body_file", "This is not base64"),
        ({"body_file": "A" * (MAX_FILE_BYTES * 2)}, "body_file", "A file has at most"),
        (
            {"body_file": {"sha256": "no digest", "size_bytes": 3}},
            "body_file.sha256",
            "Write 64 hexadecimal digits",
        ),
    ]:
        errors = faults(steps=[{"method": "POST", "path": "/", **step}])
        assert errors[f"steps.0.{place}"].startswith(why), (place, errors)


def test_a_list_that_is_none_or_too_long_is_a_fault_of_its_field():
    step = {"method": "GET", "path": "/"}
    large = {"sha256": DIGEST, "size_bytes": MAX_FILE_BYTES}
    n_files = MAX_FILES_BYTES // MAX_FILE_BYTES + 1
    for fields, place in [
        ({"steps": [step] * (MAX_STEPS + 1)}, "steps"),
        ({"steps": [{**step, "method": "POST", "body_file": large}] * n_files}, "steps"),
        ({"flows": "browse"}, "flows"),
        ({"thresholds": "p95 < 9"}, "thresholds"),
        ({"thresholds": [{"metric": "target_cpu", "limit": 0.5, "step": 1}]}, "thresholds.0.step"),
        (
            {"thresholds": [{"metric": "target_cpu", "limit": 0.5, "flow": "a"}]},
            "thresholds.0.flow",
        ),
    ]:
        assert place in faults(**fields), place


def test_a_digest_stands_for_the_bytes_that_are_stored():
    file = {"sha256": DIGEST, "size_bytes": 3}
    step = {"method": "POST", "path": "/", "multipart": [{"name": "a", "file": file}]}
    plan = read(steps=[step])
    assert list(digests_in(plan.to_json())) == [DIGEST]
    (part,) = with_bodies(step, {DIGEST: FILE})["multipart"]
    assert part["file"] == FILE
    assert with_bodies({"body_file": file}, {DIGEST: FILE}) == {"body_file": FILE}
    assert with_bodies({"body_file": file}, {}) == {"body_file": file}
