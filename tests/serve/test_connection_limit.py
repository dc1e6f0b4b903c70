"""How connections are counted: per client network, with some extra ones for the health."""

from unittest.mock import Mock

from tests.cases import in_case
from toolhaft.serve.limits import MAX_EXTRA_CONNECTIONS, ConnectionLimit, client_network


def test_clients_are_counted_by_ipv4_address_or_ipv6_network():
    cases = [
        ("203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
        ("a:b", "a:c", False),
    ]
    for one, other, is_same in cases:
        with in_case(one, other):
            assert (client_network(one) == client_network(other)) == is_same


def test_oldest_extra_connection_of_the_most_crowded_network_is_closed_first():
    limit = ConnectionLimit(10, 2)
    crowd = [Mock(name=str(number)) for number in range(MAX_EXTRA_CONNECTIONS + 2)]
    assert [limit.open(one, "crowd") for one in crowd[:3]] == [True, True, False]
    single = Mock()
    assert limit.open(Mock(), "single")
    assert limit.open(Mock(), "single")
    assert not limit.open(single, "single")
    for one in crowd[3:]:
        limit.open(one, "crowd")
    limit.refuse_crowded()
    limit.refuse_crowded()
    assert [crowd.index(one) for one in crowd if one.refuse_crowded.called] == [2]
    single.refuse_crowded.assert_not_called()
    for one in crowd[2:]:
        limit.close_extra(one, "crowd")  # also the one that was refused, once its connection ends
    for _ in range(2):
        limit.close("crowd")
        limit.close("single")
    limit.close_extra(single, "single")
    assert all(limit.open(Mock(), str(number)) for number in range(10))
    assert not limit.open(Mock(), "one too many")
