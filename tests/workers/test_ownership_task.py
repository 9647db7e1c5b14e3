"""The worker that looks for a proof, from the request on a page to what permits load."""

import pytest

from campaigns.queries.ownership import networks_for
from campaigns.services.ownership import check_host, claim_host
from tests.factories import make_endpoint, make_target
from tests.injector.servers import scripted
from workers import proofs
from workers.tasks.checks import check_ownership

pytestmark = pytest.mark.django_db


def test_a_file_that_is_found_permits_load_and_a_second_message_changes_nothing(
    project, as_bob, settings, monkeypatch
):
    settings.PROOF_DAYS, settings.ALLOWED_NETWORKS = 90, []
    # Loopback plays a public address; the real rule is in the domain's tests.
    monkeypatch.setattr(proofs, "why_not_checked", lambda address: None)
    tokens = []

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(f"HTTP/1.1 200 OK\r\n\r\n{tokens[0]}\n".encode())

    with scripted(script) as server:
        endpoint = make_endpoint(make_target(project), port=server.port)
        claim = claim_host(by=as_bob, target=endpoint.target, host=endpoint.host)
        tokens.append(claim.token)
        check_ownership(claim.pk)
        assert server.n_requests == 0, "nobody has asked"
        check_host(by=as_bob, claim=claim)
        check_ownership(claim.pk)
        check_ownership(claim.pk)
        assert server.n_requests == 1
        place = f"127.0.0.1/32:{server.port}"
    assert networks_for(project.pk, endpoint.host) == [place]
    assert claim.permits.get().given_by == "bob"
