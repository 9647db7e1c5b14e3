import pytest

from campaigns.domain.shown.arm_names import ArmFacts, arm_names, shared_mode


def arm(**fields) -> ArmFacts:
    given = {
        "plan": "100 over 5 s",
        "target": "nginx",
        "scheme": "http",
        "host": "10.0.0.1",
        "port": 8080,
        "connection_mode": "new",
        **fields,
    }
    return ArmFacts(**given)


@pytest.mark.parametrize(
    ("baseline", "candidate", "names"),
    [
        (arm(), arm(scheme="https", port=8443), ("HTTP", "HTTPS")),
        (arm(), arm(port=8443), ("nginx :8080", "nginx :8443")),
        (arm(), arm(host="10.0.0.2"), ("nginx 10.0.0.1", "nginx 10.0.0.2")),
        (arm(), arm(target="apache", port=81), ("nginx", "apache")),
        (arm(), arm(target="apache", scheme="https"), ("nginx HTTP", "apache HTTPS")),
        (arm(), arm(plan="100 over 1 s"), ("100 over 5 s", "100 over 1 s")),
        (
            arm(scheme="https"),
            arm(scheme="https", tls_profile="TLS 1.2 only"),
            ("standard TLS", "TLS 1.2 only"),
        ),
        (arm(), arm(), ("the baseline", "the candidate")),
    ],
)
def test_two_arms_have_the_shortest_names_that_tell_them_apart(baseline, candidate, names):
    assert arm_names(baseline, candidate) == names


def test_a_resumed_session_is_the_twin_of_http_on_a_new_connection():
    http, https = arm(), arm(scheme="https", port=8443, connection_mode="resumed")
    assert arm_names(http, https) == ("HTTP", "HTTPS")
    assert shared_mode(http, https) == "resumed"


def test_two_modes_are_told_by_the_names():
    new, kept = arm(scheme="https"), arm(scheme="https", connection_mode="keep-alive")
    assert shared_mode(new, kept) == ""
    assert arm_names(new, kept) == ("HTTPS new connection", "HTTPS keep-alive")
