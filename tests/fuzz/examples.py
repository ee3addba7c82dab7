"""Right examples of everything that symveil reads: the fuzzing starts from them."""

from __future__ import annotations

import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq

BESIDE = b"\n=== the file beside it ===\n"
"""Separates two files in one input."""


def _json(**document: object) -> bytes:
    return json.dumps({"format": "symveil/1", **document}).encode()


CHAIN = _json(
    kind="markov-chain",
    initial="a",
    transitions=[["a", "b", "1/2"], ["a", "a", 0.5], ["b", "a", 1]],
)
STOCHASTIC = _json(
    kind="stochastic-system",
    initial="0",
    observable=["a", "b"],
    secret=["2"],
    transitions=[["0", "a", "1", "1/3"], ["0", "b", "2", "2/3"], ["1", "b", "1", 1], ["2", "b", "1", 1]],
)
LABELLED = _json(
    kind="labelled-chain",
    labels={"a": "x", "b": "x", "c": "y"},
    related=[["a", "b"]],
    states=["a", "b", "c"],
    transitions=[["a", "b", 1], ["b", "a", "1/2"], ["b", "c", 0.5], ["c", "c", 1]],
)
MODELS = (
    CHAIN,
    STOCHASTIC,
    LABELLED,
    _json(kind="transition-system", initial="s", transitions=[["s", "go", "t"], ["t", "back", "s"]], states=["s", "t"]),
    _json(
        kind="automaton",
        initial="s",
        accepting=["t"],
        transitions=[["s", "x", "t"], ["t", None, "s"], ["s", "x", "s"]],
    ),
    _json(
        kind="stochastic-system",
        initial=["0", "1"],
        observable=["a"],
        secret=["2"],
        transitions=[["0", "a", "1"], ["0", "a", "2"], ["1", "u", "0"]],
    ),
)

_FSM = b"2\n\nidle\t1\t2\nstart\tbusy\tc\to\t0.9\nbreak\tidle\tuc\tuo\t1/10\n\nbusy\t0\t1\ndone\tidle\tuc\to\t1\n"
FSM = (
    b"2\n\nidle\t1\t1\nstart\tbusy\tc\to\n\nbusy\t0\t1\ndone\tidle\tuc\to\n",
    _FSM + b"\nEVENTS\nstart\tc\to\ndone\tuc\to\nbreak\tuc\tuo\nalarm\tuc\to",
    b"3\t2\n\n0\t1\t2\na\t1\tc\to\na\t2\tc\to\n\n1\t0\t0\n\n2\t1\t0\n",
)
_STOC = b"idle busy start 0.9\nidle idle break 0.1\nbusy idle done 1\n"
_LOGICAL_FSM = b"2\n\nidle\t1\t2\nstart\tbusy\tc\to\nbreak\tidle\tuc\tuo\n\nbusy\t0\t1\ndone\tidle\tuc\to\n"
STOC = (_STOC, _STOC + BESIDE + _LOGICAL_FSM)
PFA = (
    b"3\n\nhome\t1\t2\t1\nleave\twork\to\t0.7\nleave2\tclinic\tuo\t0.3\n\nwork\t1\t1\t0\t\nback\thome\to\t1\n\n"
    b"clinic\t0\t1\t0\nback\thome\to\t1\n",
)
PRISM = (
    b"3 5\n0 1 0.5\n0 2 0.5\n1 1 1\n2 0 0.25\n2 2 0.75\n"
    + BESIDE
    + b'0="init" 1="deadlock" 2="heads" 3="odd"\n0: 0\n1: 2 3\n2: 3\n',
    b"2 2\n0 1 1 go\n1 1 1 stay\n" + BESIDE + b'0="init" 1="x"\n0: 0 1\n',
    b"dtmc\n0 0 0\n0 1 1\n1 1 1\n" + BESIDE + b"#DECLARATION\ninit x\n#END\n0 init x\n",
)
DRN = (
    b"// x\n@type: DTMC\n@value_type: double\n@parameters\n\n@reward_models\nr\n@nr_states\n2\n@nr_choices\n2\n@model\n"
    b"state 0 [1] init\n//[s=0\t& d=1]\n\taction 0 [0]\n\t\t1 : 0.5\n\t\t0 : 1/2\n"
    b'state 1 "two words" done\n//[s=1\t& d=1]\n\taction a\n\t\t1 : 1\n',
    b"m.drn"
    + bytes(119)
    + b"00000000057"
    + bytes(21)
    + b"0"
    + bytes(100)
    + b"ustar\x0000"
    + bytes(247)
    + b"@type: DTMC\n@model\nstate 0 a\n\taction 0\n\t\t0 : 1\n"
    + bytes(1000),
)
GEN = (
    b'<Generator>\n"g" % x\n<Alphabet>\na b +o+ "c d"\n</Alphabet>\n<States>\n'
    b"<Consecutive> 1 3 </Consecutive>\n</States>\n"
    b'<TransRel>\n1 a 2 2 "c d" 1\n</TransRel>\n<InitStates> 1 2 </InitStates>\n'
    b"<MarkedStates></MarkedStates></Generator>\n",
    b'<Generator><States> 1 <Colors> "x" </Colors> </States><T> 1 a 1 </T><I> 1 </I><RabinAcceptance>'
    b"<RabinPair> 1 </RabinPair></RabinAcceptance></Generator>",
)
WMOD = (
    b'<?xml version="1.0" encoding="UTF-8"?><Module Name="m"><EventDeclList>'
    b'<EventDecl Kind="CONTROLLABLE" Name="a"/><EventDecl Kind="PROPOSITION" Name=":accepting"/></EventDeclList>'
    b'<ComponentList><SimpleComponent Name="p"><Graph><NodeList><SimpleNode Initial="true" Name="1"/>'
    b'<SimpleNode Name="2"/></NodeList><EdgeList><Edge Source="1" Target="2"><LabelBlock>'
    b'<SimpleIdentifier Name="a"/></LabelBlock></Edge></EdgeList></Graph></SimpleComponent></ComponentList></Module>',
    b'<Module><ConstantAliasList><ConstantAlias Name="N"><ConstantAliasExpression><IntConstant Value="2"/>'
    b"</ConstantAliasExpression></ConstantAlias></ConstantAliasList><EventDeclList>"
    b'<EventDecl Kind="CONTROLLABLE" Name="a"><RangeList><BinaryExpression Operator=".."><IntConstant Value="1"/>'
    b'<SimpleIdentifier Name="N"/></BinaryExpression><EnumSetExpression><SimpleIdentifier Name="l"/>'
    b'</EnumSetExpression></RangeList></EventDecl></EventDeclList><ComponentList><ForeachComponent Name="i">'
    b'<BinaryExpression Operator=".."><IntConstant Value="1"/><SimpleIdentifier Name="N"/></BinaryExpression>'
    b'<Guard><BinaryExpression Operator="==">'
    b'<SimpleIdentifier Name="i"/><IntConstant Value="1"/></BinaryExpression></Guard><SimpleComponent>'
    b'<IndexedIdentifier Name="p"><SimpleIdentifier Name="i"/></IndexedIdentifier><Graph><NodeList>'
    b'<SimpleNode Initial="true" Name="1"/></NodeList><EdgeList><Edge Source="1" Target="1"><LabelBlock>'
    b'<ForeachEvent Name="j"><EnumSetExpression><SimpleIdentifier Name="l"/></EnumSetExpression>'
    b'<IndexedIdentifier Name="a"><SimpleIdentifier Name="i"/><SimpleIdentifier Name="j"/></IndexedIdentifier>'
    b"</ForeachEvent></LabelBlock></Edge></EdgeList></Graph></SimpleComponent></ForeachComponent></ComponentList></Module>",
)
GRAPHML = (
    b'<?xml version="1.0" encoding="utf-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    b'<key id="d0" for="edge" attr.name="weight" attr.type="double"/>\n<graph edgedefault="directed">\n'
    b'<node id="a"/><node id="b"/>\n<edge source="a" target="b"><data key="d0">0.5</data></edge>\n'
    b'<edge source="b" target="a"><data key="d0">2</data></edge>\n</graph></graphml>',
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    b'<node id="a"/><node id="b"/><edge source="a" target="b"/></graph></graphml>',
)
DOT = (
    b'digraph "roads" {\n  a -> b [probability=0.5];\n  a -> a [probability="1/2", label="x"];\n'
    b"  b -> a [probability=1];\n}\n",
    b"graph { a -- b -- c [weight=2]; };",
    b'strict digraph g { node [shape=box]; subgraph cluster_x { a; b }; a -> b; b -> {a c}; "c d" -> a /* note */ }',
)
TABLES = (
    b"from,to,probability\na,b,0.5\na,a,1/2\nb,a,1\n",
    b"from,symbol,to\ns,go,t\nt,back,s\n",
    b'from_link,to_link,length\n"a, b",c,12\nc,"a, b",3\n',
)
CHANNELS = (
    b"input,output,probability\na,x,0.25\na,y,3/4\nb,x,1\n",
    b"input,output,probability,related\n1,x,1,2\n2,y,1e0,\n",
)
RELATED = (b"input,related,distance\na,b,1\nb,a,0.5\n", b"input,related\na,b\n")
COSTS = (b"one,two,cost\na,b,2\nb,c,1.5\n", b"a,b,1/3\na,c,2e1\nb,b,0\n")
PLACES = (b"symbol,x,y\na,0,0\nb,300,-400\n", b"a,1/3,2.5\nb,1e2,0\n")
CSV = (
    b"trip_id,links\n1,a b a\n2,b\n3,\n",
    b"id,s,k\n1,a|b|a,x\n2,b,y\n",
    b"c,o,s,k\nx,2,b,p\ny,1,c,q\nx,1,a,p\n",
    b"case:concept:name,time:timestamp,concept:name\n1,2020-01-01T10:00:00Z,a\n1,2020-01-01T09:00:00+01:00,b\n",
    b'id,s\n"1 ""x""","a\nb"\r\n2,c\r\n',
)
JSON_LINES = (
    b'{"id": 1, "s": ["a", "b"], "k": {"x": [1]}}\n{"id": "2", "s": [], "k": null}\n',
    b'{"trip_id": 1, "links": "a b a"}\n\n{"trip_id": 2, "links": "b"}\n',
    b'{"c": "x", "o": 2, "s": "b", "k": "p"}\n{"c": "x", "o": 1.5, "s": "a", "k": "p"}\n',
    b'{"s": [1, 2, 3]}\n',
)
XES = (
    b'<?xml version="1.0" encoding="UTF-8"?>\n<log xes.version="1.0"><string key="concept:name" value="l"/>'
    b'<extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>\n'
    b'<trace><string key="concept:name" value="1"/><int key="age" value="3"/>\n'
    b'<event><string key="concept:name" value="b"/><date key="time:timestamp" value="2020-01-01T10:00:00.000+01:00"/>'
    b'<float key="cost" value="1.5"/></event>\n'
    b'<event><string key="concept:name" value="a"/><date key="time:timestamp" value="2020-01-01T08:00:00Z"/>'
    b'<float key="cost" value="2"/></event></trace>\n'
    b'<trace><string key="concept:name" value="2"/></trace></log>',
)
XES = (*XES, gzip.compress(XES[0], mtime=0))
LOGS = (
    b"id,observation\n1,a b\n2,b b b\n",
    b'observation\n""\na\n',
    b'{"id": 1, "observation": ["a", "b"]}\n{"id": 2, "observation": ["b"]}\n',
)
MAPS = (
    b"symbol,x,y\na,0,0\nb,1e308,-1e308\n",
    b"symbol,x1,y1,x2,y2\na,0,0,1,1\nb,1,1,2,1e-320\nc,5,5,5,5\n",
    b"state,lon,lat\na,121.4,31.2\nb,121.5,31.3\n",
    b"symbol,zone\na,west\nb,east\nc,\n",
)
TYPED = (b"6/5\nabc\n\nabcab", b"0.5\nmain st,park rd\n|\nmain st|park rd", b"1e-3\na\n,\na,a")


def parquet() -> tuple[bytes, ...]:
    """Tables of every form."""
    tables = [
        pa.table({"id": [1, 2], "s": [["a", "b"], []], "k": ["x", "y"]}),
        pa.table({"trip_id": ["1", "2"], "links": ["a b", "b"]}),
        pa.table({"c": ["x", "x"], "o": [2, 1], "s": ["b", "a"], "k": [1, 1]}),
        pa.table({"from": ["a", "b"], "to": ["b", "a"], "probability": [1.0, 1.0]}),
    ]
    made = []
    for table in tables:
        sink = io.BytesIO()
        pq.write_table(table, sink)
        made.append(sink.getvalue())
    return tuple(made)
