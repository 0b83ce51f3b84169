"""What toolmesh promises, each with where it is promised. A test carries the id: `@pytest.mark.requirement("call:secrets")`.

`tests/structure/test_requirements.py` fails for a promise without a test, and for a test with an unknown id.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requirement:
    """One promise."""

    source: str
    behaviour: str


ONE_CALL = "docs/architecture.md: One call"
CLUSTER = "docs/operating.md: On a cluster"
ON_THE_BROKER = "docs/architecture.md: On the broker"
FIRST = "docs/writing-tools.md: From nothing to a running tool"
CHECK = "docs/writing-tools.md: Try and check"
PROGRAM = "docs/writing-tools.md: The program"
PROCESS = "docs/writing-tools.md: The process contract"
SDK_PARAMETERS = "docs/tool-sdk.md: Parameters"
SDK_CONTEXT = "docs/tool-sdk.md: The context"
SDK_DECLARATIONS = "docs/tool-sdk.md: Declarations"
MODELS = "docs/operating.md: Models for tools"
ASKING = "docs/asking-agents.md: How a task runs"
OUTLIVES = "docs/asking-agents.md: A task outlives its executor"
A_PERSON = "docs/asking-agents.md: When a person is needed"
PEERS = "docs/asking-agents.md: Agents that ask agents"
PUBLISHED = "docs/writing-tools.md: Tools that bring a published SDK along"
MANIFEST = "docs/writing-tools.md: Manifest keys"
CALLERS = "docs/security.md: Who may call"
TOOLS = "docs/security.md: What a tool may do"
ACCESS = "docs/access.md: From nothing to two users"
GRANTS = "docs/access.md: What grants what"
ACCESS_MODES = "docs/access.md: Modes and variables"
ACCESS_DIFFERS = "docs/access.md: Where this differs from the documented behaviour"
AGENT_FOLDERS = "docs/declared-tools.md: Agent folders"
DECLARED_ARGUMENTS = "docs/declared-tools.md: Arguments"
DECLARED_RESULTS = "docs/declared-tools.md: Results"
DECLARED_PLACE = "docs/declared-tools.md: Where a command runs"
TURNS = "docs/declared-tools.md: Turns"
SERVICES = "docs/declared-tools.md: Services"
DEAD_LETTERS = "docs/operating.md: Dead letters"
TURN = "docs/operating.md: Whose turn it is"
CHANGING = "docs/agent-files.md: Changing a file"
EMBEDS = "docs/agent-files.md: Embeds"
OPERATING = "docs/operating.md"
README = "README.md"

REQUIREMENTS = {
    "agents:reload": Requirement(
        CHANGING, "Agents follow their files; a broken file's agents stay as they were, and it is told until mended."
    ),
    "embeds:arguments": Requirement(EMBEDS, "Embeds in a tool call's arguments are replaced once, results never."),
    "embeds:answers": Requirement(
        EMBEDS, "Embeds in an answer are replaced as it streams, but not in code; the model reads its own words."
    ),
    "demo:forecast": Requirement(
        README, "The demo prints the forecast of the example tools and ends with one plain line."
    ),
    "cli:exit-codes": Requirement(
        README, "Exit codes tell ok, tool error, usage, unreachable, denied and time-out apart."
    ),
    "cli:streams": Requirement(README, "Statuses are on stderr while the tool runs, the result is on stdout."),
    "call:shared": Requirement(ONE_CALL, "Workers of a pool share its calls."),
    "call:verified-first": Requirement(ONE_CALL, "A worker verifies signature and token before it reads the body."),
    "call:one-winner": Requirement(ONE_CALL, "Of a run and a cancel exactly one wins."),
    "call:confirm-or-store": Requirement(
        ONE_CALL, "A result is confirmed by its caller, or stored where the caller finds it."
    ),
    "call:one-result": Requirement(ONE_CALL, "A call has exactly one result, whatever arrives."),
    "call:never-twice": Requirement(
        ONE_CALL, "Whatever dies, a call runs no more often than its manifest allows, and is never lost."
    ),
    "call:worker-lost": Requirement(ONE_CALL, "A dead worker's call is answered WORKER_LOST within twice ack_wait."),
    "call:run-again": Requirement(ONE_CALL, "An idempotent call of a dead worker is run again."),
    "call:cancelled": Requirement(ONE_CALL, "A queued call is withdrawn, a running one is killed."),
    "call:deadline": Requirement(
        ONE_CALL, "A call that nobody takes is reported at its deadline, and never runs later."
    ),
    "call:broker-restart": Requirement(ONE_CALL, "A broker that restarts leaves no caller without an answer."),
    "broker:half-open": Requirement(
        ONE_CALL, "A connection whose other end is gone without a word is given up within 20 s, by both ends."
    ),
    "call:node-lost": Requirement(
        CLUSTER, "With three replicas calls go on while one node of the cluster is away, whichever it is."
    ),
    "call:full-disk": Requirement(
        OPERATING, "A full disk of the broker is told to callers and operator; freed, nothing is lost or run twice."
    ),
    "call:restarts": Requirement(
        OPERATING, "Restarts of a worker, kill -9 too, leave nothing on the machine or the broker that stays."
    ),
    "call:dead-letters": Requirement(
        ONE_CALL, "What can't be read or proven is moved to the dead letters with the reason."
    ),
    "call:sizes": Requirement(ON_THE_BROKER, "Arguments, results and files of any size pass in bounded memory."),
    "broker:provisioned": Requirement(ON_THE_BROKER, "Streams and buckets are made once and never altered."),
    "broker:every-lane": Requirement(ON_THE_BROKER, "An idle worker keeps one pull on each of 24 consumers."),
    "broker:queue-limit": Requirement(
        ON_THE_BROKER, "A tenant's full queue is refused with advice, and others are not."
    ),
    "broker:fair": Requirement(TURN, "Lanes share slots by weight, shards take turns, and an urgent call is next."),
    "broker:tenant-cap": Requirement(TURN, "`max_running_per_tenant` keeps one tenant from having all slots."),
    "broker:catalog": Requirement(ON_THE_BROKER, "A later reader knows the whole catalog within a second."),
    "broker:removed": Requirement(ON_THE_BROKER, "A tool vanishes with its manifest entry, and with its last worker."),
    "broker:schemas": Requirement(ON_THE_BROKER, "Schemas and examples in schemas/ are those of the code."),
    "broker:unknown-major": Requirement(ON_THE_BROKER, "Unknown fields are ignored, unknown majors refused."),
    "tool:probing": Requirement(PROGRAM, "A program is found at three places in two folders, in order."),
    "tool:sam-import": Requirement(PROGRAM, "`sam_tool_sdk` is this SDK unless the real one is there."),
    "tool:broken": Requirement(MANIFEST, "A broken tool is named, and its neighbours work."),
    "tool:twice": Requirement(MANIFEST, "One name in two manifests of a pool is an error that names both files."),
    "tool:renamed": Requirement(MANIFEST, "`_str_binary` gives one program several names and settings."),
    "tool:mistakes": Requirement(MANIFEST, "A mistake in a file has file, line, key and the nearest spelling."),
    "tool:reloaded": Requirement(MANIFEST, "A changed folder is a new version; running calls keep the old one."),
    "tool:first-steps": Requirement(FIRST, "A scaffold, a run without a server, a mesh and a call: four commands."),
    "tool:annotations": Requirement(
        FIRST, "What an annotation says is in the catalog, and what is sent arrives as its type."
    ),
    "tool:old-or-new": Requirement(FIRST, "While a file is saved, the former version is served, then the new one."),
    "tool:former-stays": Requirement(
        FIRST, "A version that can't be loaded leaves the former one served, and is named."
    ),
    "tool:removed": Requirement(FIRST, "What is removed is no longer served, what is added below a folder is."),
    "tool:refreshed": Requirement(MANIFEST, "A schema is asked for again after `schema_refresh_seconds`."),
    "tool:run": Requirement(CHECK, "`tool run` runs a tool as a worker would, and ends as `call` does."),
    "tool:validated": Requirement(CHECK, "`tool validate` tells every problem with file, line and cure."),
    "tool:annotated": Requirement(
        SDK_PARAMETERS, "An annotation that says nothing is refused with file, line and name."
    ),
    "tool:settings": Requirement(
        SDK_DECLARATIONS, "Settings that a tool does not take are named before it starts, and never shown."
    ),
    "tool:outputs": Requirement(SDK_CONTEXT, "No file that was cut passes for a whole one."),
    "tool:schema": Requirement(CHECK, "`tool schema` prints what the catalog would say, also under given settings."),
    "config:validated": Requirement(CHECK, "`config validate` recognises a file and tells every problem in it."),
    "doctor:cures": Requirement(OPERATING, "The doctor tells every problem with its cure."),
    "dead:looked-after": Requirement(
        DEAD_LETTERS, "A dead letter is listed with its reason, shown without secrets, called again anew, or dropped."
    ),
    "process:results": Requirement(PROCESS, "Every shape of result becomes the right outcome, none a false success."),
    "process:status": Requirement(PROCESS, "Statuses are neither lost nor glued."),
    "process:arguments": Requirement(
        PROCESS, "Arguments are converted and checked before the start; what is wrong or missing is named."
    ),
    "process:model": Requirement(
        PROCESS, "A tool's question to the model has one answer, in time, or the reason why there is none."
    ),
    "models:tools": Requirement(
        MODELS, "A tool's question is answered by its executor's model, and its tokens counted."
    ),
    "models:dialects": Requirement(MODELS, "Both dialects are spoken, and any address that speaks one is a provider."),
    "models:choice": Requirement(MODELS, "A tool may choose only a model that its agent allows."),
    "models:retries": Requirement(MODELS, "What passes is tried again in one place, within the time of the question."),
    "models:errors": Requirement(MODELS, "Each failure has a stable code and says what to do next."),
    "models:bounds": Requirement(MODELS, "What one call may ask is bounded."),
    "models:keys": Requirement(MODELS, "A provider's key is known to the executor alone."),
    "models:proof": Requirement(
        MODELS, "Only a call that an executor signed for the pool may ask, and only while it runs."
    ),
    "loop:ask": Requirement(ASKING, "An agent answers through the tools that workers run for it."),
    "loop:chat": Requirement(ASKING, "An agent remembers a conversation until its person leaves or has it forget."),
    "loop:secrets": Requirement(ASKING, "What a provider repeats of our key reaches no event, call, history or tool."),
    "loop:streaming": Requirement(ASKING, "Text comes as it is written."),
    "loop:parallel": Requirement(ASKING, "Calls of one turn run at once, and the model gets all their results."),
    "loop:restart": Requirement(ASKING, "Text of a turn that broke off is void, and the reader is told."),
    "loop:budget": Requirement(ASKING, "One budget bounds all attempts to get one turn of the model."),
    "loop:compaction": Requirement(
        ASKING, "A conversation that is too long for its model is gone on with over a summary."
    ),
    "loop:turns": Requirement(ASKING, "A task ends within its turns, with a reason."),
    "loop:failures": Requirement(ASKING, "A tool that keeps failing the same way is not called again."),
    "loop:content": Requirement(ASKING, "A result that is too long is never shown by half of it."),
    "loop:scopes": Requirement(ASKING, "A tool is shown only to callers with its scopes, and refused to others."),
    "loop:approval": Requirement(A_PERSON, "A call that needs approval does not run before a person has agreed."),
    "loop:questions": Requirement(A_PERSON, "A tool's own question is put to a person, whose answer is its result."),
    "loop:structured": Requirement(ASKING, "Requests and answers with a schema fit it, or are told where they don't."),
    "loop:usage": Requirement(ASKING, "Tokens and known prices of turns are counted; an unknown price is not zero."),
    "task:events": Requirement(OUTLIVES, "Events of a task are numbered without a gap and can be read again."),
    "task:admission": Requirement(
        OUTLIVES, "Who may not ask an agent is told so in the task, before any model is asked."
    ),
    "task:killed": Requirement(OUTLIVES, "Another executor goes on with a task, and no worker's tool runs twice."),
    "task:cancel": Requirement(OUTLIVES, "A task can be taken back wherever it is, with its calls."),
    "task:approval": Requirement(A_PERSON, "Only who asked can answer, and the first answer counts."),
    "task:questions": Requirement(A_PERSON, "A question that nobody answers in time ends, and the model is told."),
    "task:peers": Requirement(PEERS, "Peers are bounded by files, by the first caller's scopes and by depth."),
    "process:stopped": Requirement(PROCESS, "A program that has to end gets SIGTERM and a moment before it is killed."),
    "process:credential": Requirement(PROCESS, "An operator's own credential arrives as a ready header."),
    "published:releases": Requirement(PUBLISHED, "Tools of each release of the published SDK run unchanged."),
    "published:repaired": Requirement(
        PUBLISHED, "Context and tool_config arrive in every form, and a forgotten await is made up for."
    ),
    "published:strict": Requirement(PUBLISHED, "`compat: strict` is the published SDK exactly as it is."),
    "published:files": Requirement(PUBLISHED, "Files keep type, description and folder, and names stay apart."),
    "published:catalog": Requirement(
        PUBLISHED, "The first paragraph is the description, and an artifact the name of a file."
    ),
    "process:outputs": Requirement(
        PROCESS, "Output files come back with type and description; hostile ones are refused."
    ),
    "process:failures": Requirement(
        PROCESS, "A crash, a time-out, a silent exit and a lingering process are told apart."
    ),
    "identity:tokens": Requirement(
        CALLERS, "Only a valid EdDSA token of the issuer for this namespace proves anything."
    ),
    "identity:signature": Requirement(
        CALLERS, "A recorded call is worthless with another body, tool, pool, id or deadline."
    ),
    "identity:scopes": Requirement(
        CALLERS, "The scopes of the agent's entry and of the manifest are needed, all of them."
    ),
    "access:exactly": Requirement(ACCESS, "A user has exactly the scopes of their roles, and an unknown one has none."),
    "access:agents": Requirement(
        GRANTS, "Agents are opened by name or glob, with the scopes that they ask for, for asking too."
    ),
    "access:edits": Requirement(ACCESS, "An edit counts at once, and a broken file lets no user in."),
    "access:shown": Requirement(ACCESS, "`access show` tells roles and why, scopes, and what agents and tools lack."),
    "access:two-users": Requirement(ACCESS, "The page's four files let two users do different things."),
    "access:narrowing": Requirement(GRANTS, "Scopes that nobody signed take away, and never add."),
    "access:three-checks": Requirement(
        GRANTS, "What the model is shown, what is dispatched and what a worker runs are checked each by itself."
    ),
    "access:system-users": Requirement(
        "docs/access.md: Identity providers", "Nobody signs in as a `system:` user, and an unknown one may do nothing."
    ),
    "access:modes": Requirement(
        ACCESS_MODES, "Three types; nothing said means that nobody but the owner may do anything."
    ),
    "access:variables": Requirement(ACCESS_MODES, "Variables fill in what the file leaves open, at the start alone."),
    "access:off-is-told": Requirement(ACCESS_MODES, "`type: none` is warned of at the start and by the doctor."),
    "access:mistakes": Requirement(
        ACCESS_DIFFERS, "What is unreadable, undefined or malformed stops the start, with file, line and role."
    ),
    "access:capabilities": Requirement(
        ACCESS_DIFFERS, "An answer about scopes names its type, and nothing asked for is no yes."
    ),
    "identity:sealed": Requirement(CALLERS, "Secrets of a configuration reach the tool and nothing else."),
    "identity:least-subjects": Requirement(CALLERS, "Each service's credentials work only where they are listed."),
    "sandbox:files": Requirement(TOOLS, "A tool reads and writes only what its profile shows."),
    "sandbox:network": Requirement(TOOLS, "`restrictive` has no network, not even loopback."),
    "sandbox:processes": Requirement(TOOLS, "No other process is seen, and nothing outlives the call."),
    "sandbox:limits": Requirement(TOOLS, "The limits hold, and none can be raised."),
    "sandbox:environment": Requirement(TOOLS, "The environment holds only what the contract needs."),
    "sandbox:dropped-uid": Requirement(TOOLS, "A root worker's tool runs under a user id of its own."),
    "sandbox:refused": Requirement(TOOLS, "A machine that can't give what was asked for is told what is missing."),
    "declared:cases": Requirement(DECLARED_RESULTS, "Every case of declared tools holds, for root and for others."),
    "declared:package": Requirement(AGENT_FOLDERS, "A call runs the version of the agent folder that it names."),
    "declared:mounts": Requirement(AGENT_FOLDERS, "Mounts are read-only, and none shows what is the worker's own."),
    "declared:mistakes": Requirement(AGENT_FOLDERS, "A broken tool or folder is named, and the others are served."),
    "declared:scope": Requirement(AGENT_FOLDERS, "A tool's scope is needed as it is written."),
    "declared:refusals": Requirement(DECLARED_ARGUMENTS, "What is refused starts nothing, and the model is told."),
    "declared:result": Requirement(DECLARED_RESULTS, "Text, notes and counts are those of the page, and true."),
    "declared:status": Requirement(DECLARED_RESULTS, "How a call ended stands where its tool can't write."),
    "declared:outbox": Requirement(DECLARED_RESULTS, "Files in the outbox come back; hostile ones are refused."),
    "declared:confined": Requirement(
        DECLARED_PLACE, "Declared tools run under their own strict profile, or not at all."
    ),
    "declared:alone": Requirement(
        "docs/declared-tools.md", "An author runs and checks declared tools without a server."
    ),
    "declared:services": Requirement(SERVICES, "A service is called only where it is allowed, and knows who asks."),
    "declared:turn": Requirement(TURNS, "Calls of a turn find each other's files, on whatever worker they run."),
    "up:one-command": Requirement(
        OPERATING, "`toolmesh up` starts everything, keeps it running, and drains on Ctrl-C."
    ),
    "up:no-orphans": Requirement(OPERATING, "kill -9 of `toolmesh up` leaves no process behind."),
    "up:pinned-server": Requirement(OPERATING, "The packaged nats-server is pinned by version and SHA-256."),
    "up:private": Requirement(OPERATING, "The embedded server is on loopback, in a 0700 folder with a lock."),
    "watch:health": Requirement(OPERATING, "/health, /ready and /metrics answer, and name what is wrong."),
    "watch:usage": Requirement(
        OPERATING, "Results and /metrics tell the wall clock, CPU, memory, input and output of runs."
    ),
    "worker:floor": Requirement(
        "docs/sandbox.md: How far down a machine may go", "A worker goes down no further than its operator's floor."
    ),
}
