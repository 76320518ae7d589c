"""What reads can return, where accesses can be, how memory is cut; real and syntactic dependencies."""

from memcheck.events.dependencies import semantic
from memcheck.events.domains import analyse
from memcheck.events.relations import program_relation
from memcheck.events.structure import Structure
from memcheck.events.unfold import unfold
from memcheck.ptx.qualifiers import Scope, Sem
from tests.events.building import at, atom, bar, bra, build, ld, op, st, var


def dep(structure: Structure) -> dict[int, set[int]]:
    return {event: set(reads) for event, reads in semantic(structure).items()}


def test_reads_return_what_was_there_or_is_written_somewhere():
    structure = unfold(build([st("x", 1), st("y", 2)], [st("x", 3), ld("r0", "x"), ld("r1", "z")]))
    domains = analyse(structure)
    assert domains.reads == {4: (0, 1, 3), 5: (0,)}
    assert domains.writes == {1: (1,), 2: (2,), 3: (3,)}
    x, y, z = (structure.memory.instance(v).base for v in "xyz")
    assert domains.addresses == {1: (x,), 2: (y,), 3: (x,), 4: (x,), 5: (z,)}
    assert domains.cells == ((x, 4), (y, 4), (z, 4))


def test_no_value_comes_out_of_itself():
    # each stores what the other loaded, plus one: neither can grow for ever
    structure = unfold(build([ld("r0", "x"), op("add", "r1", "r0", 1), st("y", "r1")], [ld("r0", "y"), st("x", "r0")]))
    domains = analyse(structure)
    assert domains.writes == {2: (1,), 4: (0, 1)}
    assert domains.reads == {1: (0, 1), 3: (0, 1)}


def test_additions_add_each_once():
    structure = unfold(build(*[[atom("add", None, "x", 1)]] * 3))
    domains = analyse(structure)
    assert domains.writes == {2: (1, 2, 3), 4: (1, 2, 3), 6: (1, 2, 3)}


def test_what_a_guard_excludes_is_not_written():
    body = [ld("r0", "x"), bra("E", compare=("ne", "r0", 5)), st("y", 7), "E:", st("y", 8)]
    structure = unfold(build(body, [st("x", 4), ld("r0", "y")]))
    assert analyse(structure).reads == {1: (0, 4), 5: (0, 8)}
    assert analyse(structure).writes[2] == ()


def test_a_spin_lets_only_its_exits_through():
    body = ["L:", ld("r0", "x"), bra("L", compare=("lt", "r0", 3)), st("y", "r0")]
    structure = unfold(build(body, [st("x", 2), st("x", 3)]))
    assert analyse(structure).writes[2] == (3,)


def test_bytes_are_put_together_from_several_writes():
    variables = [var("x", "b64", align=8)]
    test = build(
        [st("x", 0x1111111122222222, type="b64"), st(at("x", 4), 0x33333333)], [ld("rd0", "x", type="b64")],
        variables=variables, observed=["x"],
    )  # fmt: skip
    structure = unfold(test)
    domains = analyse(structure)
    x = structure.memory.instance("x").base
    assert domains.cells == ((x, 4), (x + 4, 4))
    lows, highs = (0, 0x22222222), (0, 0x11111111, 0x33333333)
    assert set(domains.reads[3]) == {high << 32 | low for low in lows for high in highs}


def test_addresses_from_memory():
    structure = unfold(
        build([ld("r0", "p"), st("%r0", 1)], [st("p", "&y")], variables=[var("p", init=0), var("x"), var("y")])
    )
    y = structure.memory.instance("y").base
    domains = analyse(structure)
    assert domains.addresses[2] == (0, y)
    assert domains.writes[2] == (1,)
    assert dep(structure) == {2: {1}}


def test_data_dependencies_are_those_that_change_something():
    body = [
        ld("r0", "x"),
        op("sub", "r1", "r0", "r0"),
        op("or", "r2", "r0", 1),
        op("and", "r2", "r2", 1),
        st("y", "r0"),
        st("y", "r1"),
        st("y", "r2"),
        atom("exch", "r3", "z", 1),
    ]
    structure = unfold(build(body, [st("x", 1), st("z", 2)]))
    assert dep(structure) == {2: {1}}
    # as the text has them, all but the exchange
    assert program_relation(structure, "data")[1] == 0b11100


def test_a_store_after_the_join_and_stores_of_both_branches_do_not_depend():
    body = [
        ld("r0", "x"),
        bra("A", compare=("eq", "r0", 0)),
        st("y", 1),
        bra("B"),
        "A:",
        st("y", 1),
        "B:",
        st("z", 1),
    ]
    writer = [st("x", 1)]
    assert dep(unfold(build(body, writer))) == {}
    body[5] = st("y", 2)
    assert dep(unfold(build(body, writer))) == {2: {1}, 3: {1}}
    body[5] = st("y", 1, Sem.RELAXED, Scope.GPU)
    assert dep(unfold(build(body, writer))) == {2: {1}, 3: {1}}
    # with nobody to write x, nothing hangs on it
    assert dep(unfold(build(body))) == {}


def test_what_follows_a_spin_depends_on_its_exit():
    body = ["L:", ld("r0", "x"), bra("L", compare=("eq", "r0", 0)), st("y", 1), bar("sync", 0)]
    assert dep(unfold(build(body, [st("x", 1)]))) == {2: {1}, 3: {1}}


def test_a_cas_depends_on_what_it_reads():
    structure = unfold(build([atom("cas", "r0", "x", 0, 1), atom("add", "r1", "y", 1)], [st("x", 4), st("y", 4)]))
    assert dep(structure) == {2: {1}, 4: {3}}


def test_a_read_depends_on_what_moves_it():
    body = [ld("r0", "p"), ld("r1", "%r0"), st("z", "r1")]
    variables = [var("p"), var("x", init=5), var("y", init=5), var("z")]
    structure = unfold(build(body, [st("p", "&x")], [st("p", "&y")], variables=variables))
    assert dep(structure) == {2: {1}, 3: {2}}


def test_a_read_that_never_happens_has_a_domain():
    body = [ld("r0", "x"), bra("E", compare=("eq", "r0", 0)), ld("r1", "y"), st("z", "r1"), "E:"]
    domains = analyse(unfold(build(body)))
    assert domains.reads[2] == (0,)
    assert domains.writes[3] == ()


def test_many_conditions_are_looked_at_apart():
    body: list[object] = []
    for i in range(12):
        body += [ld(f"r{i}", "x"), bra("E", compare=("eq", f"r{i}", 99))]
    structure = unfold(build([*body, st("y", 1), "E:"], *[[st("x", n)] for n in range(1, 8)], [st("x", 99)]))
    assert dep(structure)[13] == set(range(1, 13))
