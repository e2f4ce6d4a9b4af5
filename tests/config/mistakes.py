"""Files with one mistake each: `§` marks its position; then its path, and a part of the message."""
# ruff: noqa: E501 - a table is read line by line, one mistake each

GOOD_METRIC = "{type: External, external: {metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}"


def body(**replaced: str) -> str:
    """Return a file with one autoscaler whose keys are replaced, or removed by an empty text."""
    keys = {
        "name": "web",
        "scaleTargetRef": "{adapter: a, name: job/web}",
        "minReplicas": "1",
        "maxReplicas": "5",
        "metrics": f"[{GOOD_METRIC}]",
    } | replaced
    lines = "\n    ".join(f"{key}: {value}" for key, value in keys.items() if value)
    queries = "{cpu: {expr: cpu}, rate: {expr: 'rate(cpu[5m])'}}"
    return f"adapters: {{a: {{type: groups}}}}\nqueries: {queries}\nautoscalers:\n  - {lines}\n"


def metric(text: str) -> str:
    """Return a file whose autoscaler has this metric."""
    return body(metrics=f"[{text}]")


def pods(
    query: str = "{expr: q}", target: str = "{type: AverageValue, averageValue: 1}", name: str = "{name: q}"
) -> str:
    """Return a file with a metric of type Pods."""
    return metric(f"{{type: Pods, pods: {{metric: {name}, query: {query}, target: {target}}}}}")


def external(fallback: str) -> str:
    """Return a file with a metric of type External that has this fallback."""
    return metric(GOOD_METRIC.replace("value: 1}", f"value: 1}}, fallback: {fallback}"))


def resource(more: str = "", target: str = "{type: Utilization, averageUtilization: 60}") -> str:
    """Return a file with a metric of type Resource."""
    return metric(f"{{type: Resource, resource: {{name: cpu, query: {{ref: cpu}}, target: {target}{more}}}}}")


def down(rules: str) -> str:
    """Return a file with these rules for scaleDown."""
    return body(behavior=f"{{scaleDown: {rules}}}")


def brakes(text: str) -> str:
    """Return a file whose autoscaler has these brakes."""
    return body(brakes=text)


B = "autoscalers[0].brakes"
M = "autoscalers[0].metrics[0]"
D = "autoscalers[0].behavior.scaleDown"
R = "autoscalers[0].scaleTargetRef"
NONE = "autoscalers: []\n"
SHARED = NONE + "state: {url: postgresql://db/a}\n"

MISTAKES = {
    # the file as a whole
    "empty": ("§", "", "the file is empty; write"),
    "a list": ("§- a\n", "", "the file is not a mapping"),
    "a manifest": (
        "apiVersion: autoscaling/v2\nkind: §HorizontalPodAutoscaler\nspec: {maxReplicas: 3}\n",
        "kind",
        "the file is a Kubernetes manifest, not a configuration; convert it with `autoscaler import`",
    ),
    "a tab": (
        "a:\n§\tb: 1\n",
        "",
        "any token; indent it by spaces, not by a tab",
    ),
    "a line that is indented less": (
        "web:\n  listenAddress: x\n §operators: []\n",
        "",
        "invalid YAML: while parsing a block mapping did not find expected key; indent the line as its neighbours are",
    ),
    "a line that is indented more": (
        "web:\n  listenAddress: x\n    operators§: []\n",
        "",
        "invalid YAML: mapping values are not allowed in this context; indent the line as its neighbours are",
    ),
    "a range in an expression in braces": (pods("{expr: rate(x§[5m])}"), "", "; write `expr:` on a line of its own, not in braces, or put"),
    "a comma in an expression in braces": (pods("{expr: 'sum(a', §b)}"), f"{M}.pods.query.'b)'", "unknown key, which is a part of an expression in braces; write `expr:` on"),
    "a colon in an expression": ("queries:\n  q:\n    expr: up{a=\"b§: c\"}\n", "", "in this context; put the expression in quotes, because it holds a colon and a space"),
    "an open bracket": ("a: [1, 2\n§", "", "or ']'; close the bracket, or put a text that holds brackets or commas in quotes"),
    "an open quote": ("a: §'1\nb: 2\n", "", "close the quote that begins here"),
    "an expression without quotes": ("a: {expr: up§{job='web'}}\n", "", "or put the expression in quotes"),
    "two documents": ("a: 1\n§---\nb: 1\n", "", "expected a single document"),
    "a control character": ("a: §\x01\n", "", "a character that YAML does not allow"),
    "an autoscaler without a dash": (body().replace("  - name: web", "    §name: web"), "autoscalers", "found a mapping; begin each of its entries with a dash, as in `- name: web`"),
    "a second autoscaler without a dash": (body() + "    §name: shop\n    scaleTargetRef: {adapter: a, name: job/shop}\n    maxReplicas: 5\n", "", "'name' is given twice, first on line 4; if another entry of the list begins here, begin it with a dash: `- name:`; else remove one"),
    "a second autoscaler at the place of the dash": (body() + "  §name: shop\n", "", "expected '-' indicator; indent the line as its neighbours are, or begin each entry of the list with a dash"),
    "a dash that the first autoscaler does not have": (body().replace("  - name: web", "    name: web") + "  §- name: shop\n", "", "expected key; indent the line as its neighbours are, or begin each entry of the list with a dash"),
    "autoscalers by name": ("autoscalers:\n  §web:\n    maxReplicas: 5\n", "autoscalers", "found a mapping; begin each of its entries with a dash"),
    "a metric without a dash": (body(metrics="\n      §type: Pods\n      pods: {}"), M[:-3], "found a mapping; begin each of its entries with a dash"),
    "connections with a dash": (body().replace("adapters: {a: {type: groups}}", "adapters:\n  §- a: {type: groups}"), "adapters", "found a list; write its keys without dashes"),
    "sources with a dash": (pods("{expr: q, prometheus: other}") + "prometheus:\n  §- other: {url: 'http://localhost:9090'}\n", "prometheus", "found a list; write its keys without dashes"),
    "queries with a dash": (resource().replace("queries: {cpu: {expr: cpu}, rate: {expr: 'rate(cpu[5m])'}}", "queries:\n  §- cpu: {expr: cpu}"), "queries", "found a list; write its keys without dashes"),
    "shared schedules with a dash": (body(schedules="[night]") + "schedules:\n  §- night: [{name: n, start: '0 22 * * *', duration: 8h, minReplicas: 0}]\n", "schedules", "found a list; write its keys without dashes"),
    "a duplicate key": ("web: {}\n§web: {}\n", "", "'web' is given twice, first on line 1; remove one"),
    "a tag": ("autoscalers: §!!python/object:os.system {}\n", "", "tags such as"),
    "an undefined alias": ("a: §*b\n", "", "undefined alias"),
    "an alias in itself": ("a: §&a [1, *a]\n", "", "inside the block that it refers to"),
    "a key that is a number": ("§1: x\n", "", "the key '1' is not text; write it in quotes"),
    "a key that is a list": ("? §[a]\n: x\n", "", "a key is a mapping or a list"),
    "a merge of a text": ("a: {<<: §b}\n", "", "to merge with <<"),
    # sections and keys
    "no autoscalers": ("§web: {}\n", "autoscalers", "is missing; it has no default"),
    "an unknown section": (NONE + "§prometeus: {}\n", "prometeus", "unknown key; did you mean `prometheus`?"),
    "a snake_case key": (NONE + "controller: {§dry_run: true}\n", "controller.dry_run", "did you mean `dryRun`?"),
    "nothing near": (NONE + "web: {§zzz: 1}\n", "web.zzz", "unknown key; known: allowedHosts, controlSocket, listenAddress, operators"),
    "an unknown key without a value": (NONE + "web: {§zzz: }\n", "web.zzz", "unknown key"),
    "a section that is a list": (NONE + "controller: §[]\n", "controller", "expected a mapping, found a list"),
    "a duration without unit": (NONE + "controller: {syncPeriod: §15}\n", "controller.syncPeriod", '15 is not a valid duration; write it with a unit, as in "15s"'),
    "a duration of 0": (NONE + "controller: {syncPeriod: §0s}\n", "controller.syncPeriod", "0 is too short"),
    "yes": (NONE + "controller: {dryRun: §yes}\n", "controller.dryRun", "expected true or false, found the text 'yes'; write true or false"),
    "true in quotes": (NONE + "controller: {dryRun: §'true'}\n", "controller.dryRun", "expected true or false, found the text 'true'; remove the quotes: true"),
    "a number for true": (NONE + "controller: {dryRun: §1}\n", "controller.dryRun", "expected true or false, found the number 1"),
    "a stabilization that is too long": (NONE + "controller: {downscaleStabilization: §9000y}\n", "controller.downscaleStabilization", "9000y is too long a duration; write at most 36500d (100 years)"),
    "a detail longer than the retention": (NONE + "state: §{retention: 1d, detail: 2d}\n", "state", "detail 2d is longer than retention 1d; shorten it, or lengthen retention"),
    "a detail longer than the default retention": (NONE + "state: §{detail: 40d}\n", "state", "detail 40d is longer than retention 30d"),
    "a size without unit": (NONE + "state: {maxSize: §5}\n", "state.maxSize", '\'5\' is not a valid size; write it as in "512MB" or "5GB"'),
    "a size with half a unit": (NONE + "state: {maxSize: §5G}\n", "state.maxSize", "write it with a unit"),
    "a limit of answers that is too small": ("autoscalers: []\nprometheus: {p: {url: 'http://h', maxAnswer: §1KB}}\n", "prometheus.p.maxAnswer", "1KB is too small; write at least 64KB"),
    "too many queries at a time": ("autoscalers: []\nprometheus: {p: {url: 'http://h', concurrency: §101}}\n", "prometheus.p.concurrency", "101 is out of range; write at most 100"),
    "a compression that is true": ("autoscalers: []\nprometheus: {p: {url: 'http://h', compression: §true}}\n", "prometheus.p.compression", "write 'auto', 'on' or 'off'"),
    "a size that is too small": (NONE + "state: {maxSize: §15MB}\n", "state.maxSize", "15MB is too small; write at least 16MB"),
    "leases with SQLite": (NONE + "§ha: {leaseDuration: 15s}\n", "ha", "an SQLite state has one daemon and no lease; remove ha, or write a PostgreSQL state.url"),
    "a lease as long as its deadline": (SHARED + "ha: §{leaseDuration: 10s}\n", "ha", "leaseDuration 10s is not longer than renewDeadline 10s"),
    "a deadline shorter than one renewal": (SHARED + "ha: §{renewDeadline: 2s}\n", "ha", "renewDeadline 2s is not longer than 1.2 x retryPeriod 2s"),
    "renewals that are too frequent": (SHARED + "ha: {retryPeriod: §10ms}\n", "ha.retryPeriod", "10ms is too short; write at least 100ms"),
    "a pool and a shared state": (SHARED + "adapters: {a: {type: §process, pools: {web: {command: x}}}}\n", "adapters.a.type", "move the connection to a daemon of its own, with an SQLite state"),
    "a host for a type that has none": (NONE + "adapters: {a: {type: groups, §host: vm-1}}\n", "adapters.a.host", "unknown key"),
    "a sync period that is too short": (NONE + "controller: {syncPeriod: §999ms}\n", "controller.syncPeriod", "999ms is too short; write at least 1s"),
    "a negative tolerance": (NONE + "controller: {tolerance: §-0.1}\n", "controller.tolerance", "-0.1 is below 0"),
    "a tolerance that is a list": (NONE + "controller: {tolerance: §[]}\n", "controller.tolerance", "expected a quantity"),
    "a state elsewhere": (NONE + "state: {url: §mysql://u:geheim@h/d}\n", "state.url", "this is not a valid state URL"),
    "a state in memory": (NONE + "state: {url: §'sqlite:///:memory:'}\n", "state.url", 'names no file, and the daemon needs its state after a restart; write "sqlite:////PATH/state.db"'),
    "a state without file": (NONE + "state: {url: §'sqlite://'}\n", "state.url", "names no file"),
    "a state whose file has a NUL": (NONE + "state: {url: §'sqlite:////var/a%00b.db'}\n", "state.url", "a NUL character, written as %00; remove it"),
    "a state whose file is a host": (NONE + "state: {url: §'sqlite://var/state.db'}\n", "state.url", "names no file"),
    "a state with a URL of SQLite": (NONE + "state: {url: §'sqlite:///file:a?mode=memory'}\n", "state.url", "names no file"),
    "an operator that is a number": (NONE + "web: {operators: [§1]}\n", "web.operators[0]", "expected a text"),
    "an allowed host with a port": (NONE + "web: {allowedHosts: [§'vm1:9797']}\n", "web.allowedHosts[0]", "write it without scheme and port"),
    "a socket's path that is too long": (NONE + f"web: {{controlSocket: §/{'x' * 107}}}\n", "web.controlSocket", "the path has 108 bytes, and a Unix socket's at most 107; shorten it"),
    "an address without port": (NONE + "web: {listenAddress: §'h'}\n", "web.listenAddress", "write HOST:PORT or :PORT, as in"),
    "a port too large": (NONE + "web: {listenAddress: §'h:65536'}\n", "web.listenAddress", "write HOST:PORT or :PORT"),
    # prometheus
    "no url": (NONE + "prometheus: {default: §{timeout: 1s}}\n", "prometheus.default.url", "is missing; it has no default"),
    "no scheme": (NONE + "prometheus: {default: {url: §'localhost:9090'}}\n", "prometheus.default.url", "is not a valid server URL"),
    "a bad port": (NONE + "prometheus: {default: {url: §'http://h:x'}}\n", "prometheus.default.url", "is not a valid server URL"),
    "a password in a url": (NONE + "prometheus: {default: {url: §'http://u:geheim@h'}}\n", "prometheus.default.url", "passwordFile"),
    "parameters in a url": (NONE + "prometheus: {default: {url: §'http://h?a=b'}}\n", "prometheus.default.url", "under params"),
    "a password in a link": (NONE + "prometheus: {default: {url: 'http://h', externalUrl: §'https://u:geheim@h'}}\n", "prometheus.default.externalUrl", "the URL holds a user or password; remove it"),
    "parameters in a link": (NONE + "prometheus: {default: {url: 'http://h', externalUrl: §'https://h/?a=b'}}\n", "prometheus.default.externalUrl", "the URL holds parameters; remove them"),
    "a header that is a number": (NONE + "prometheus: {default: {url: 'http://h', headers: {a: §1}}}\n", "prometheus.default.headers.a", "expected a text, found a number; write it in quotes"),
    "a header's name with a space": (NONE + "prometheus: {default: {url: 'http://h', headers: {§a b: c}}}\n", "prometheus.default.headers.'a b'", "'a b' is not a valid header name"),
    "a header of two lines": (NONE + "prometheus: {default: {url: 'http://h', headers: {a: §\"geheim\\nb: c\"}}}\n", "prometheus.default.headers.a", "expected one line of Latin-1 characters"),
    "a header that ends a line": (NONE + "prometheus: {default: {url: 'http://h', headers: {a: §\"geheim\\n\"}}}\n", "prometheus.default.headers.a", "expected one line of Latin-1 characters"),
    "a header beyond Latin-1": (NONE + "prometheus: {default: {url: 'http://h', headers: {a: §geheim€}}}\n", "prometheus.default.headers.a", "expected one line of Latin-1 characters"),
    "a parameter that is the query's": (NONE + "prometheus: {default: {url: 'http://h', params: {§query: up}}}\n", "prometheus.default.params.query", "query is set by each query itself; remove it"),
    "a certificate without key": (NONE + "prometheus: {default: {url: 'http://h', tls: §{certFile: a}}}\n", "prometheus.default.tls.keyFile", "go together"),
    "two ways to authenticate": (NONE + "prometheus: {default: §{url: 'http://h', basicAuth: {username: u, passwordFile: p}, bearerTokenFile: t}}\n", "prometheus.default", "basicAuth and bearerTokenFile are both given; remove one"),
    "an empty path": (NONE + "prometheus: {default: {url: 'http://h', bearerTokenFile: §''}}\n", "prometheus.default.bearerTokenFile", "the path is empty; write one, or remove it"),
    "an empty path of a socket": (NONE + "web: {controlSocket: §''}\n", "web.controlSocket", "the path is empty; write one, or remove it"),
    "an empty path of a folder": (NONE + "autoscalersDir: §''\n", "autoscalersDir", "the path is empty; write one, or remove it"),
    "a token and a signature": (NONE + "prometheus: {default: §{url: 'http://h', bearerTokenFile: t, sigv4: {region: eu-west-1}}}\n", "prometheus.default", "bearerTokenFile and sigv4 are both given; remove one"),
    "a signature and a token of a grant": (NONE + "prometheus: {default: §{url: 'http://h', sigv4: {region: eu-west-1}, oauth2: {clientId: c, clientSecretFile: s, tokenUrl: 'http://i'}}}\n", "prometheus.default", "sigv4 and oauth2 are both given; remove one"),
    "a token and its header": (NONE + "prometheus: {default: §{url: 'http://h', bearerTokenFile: t, headers: {authorization: {valueFile: h}}}}\n", "prometheus.default", "bearerTokenFile and the header authorization are both given; remove one"),
    "a signature without region": (NONE + "prometheus: {default: {url: 'http://h', sigv4: §{service: aps}}}\n", "prometheus.default.sigv4.region", "is missing; it has no default"),
    "a region that is none": (NONE + "prometheus: {default: {url: 'http://h', sigv4: {region: §Ireland}}}\n", "prometheus.default.sigv4.region", "'Ireland' is not a valid region; write it as in eu-west-1"),
    "a role that is a name": (NONE + "prometheus: {default: {url: 'http://h', sigv4: {region: eu-west-1, roleArn: §metrics}}}\n", "prometheus.default.sigv4.roleArn", "'metrics' is not a valid role ARN; write it as in arn:aws:iam::"),
    "an external id without role": (NONE + "prometheus: {default: {url: 'http://h', sigv4: {region: eu-west-1, externalId: §customer-7}}}\n", "prometheus.default.sigv4.externalId", "add `roleArn`, or remove it"),
    "a secret in the token's url": (NONE + "prometheus: {default: {url: 'http://h', oauth2: {clientId: c, clientSecretFile: s, tokenUrl: §'http://c:geheim@i'}}}\n", "prometheus.default.oauth2.tokenUrl", "write clientId and clientSecretFile instead"),
    "a secret among a grant's parameters": (NONE + "prometheus: {default: {url: 'http://h', oauth2: {clientId: c, clientSecretFile: s, tokenUrl: 'http://i', endpointParams: {§client_secret: geheim}}}}\n", "prometheus.default.oauth2.endpointParams.client_secret", "write its file as clientSecretFile"),
    "a key of a header's file that is unknown": (NONE + "prometheus: {default: {url: 'http://h', headers: {a: {valueFile: f, §file: f}}}}\n", "prometheus.default.headers.a.file", "unknown key; did you mean `valueFile`?"),
    "no source": (NONE + "prometheus: §{}\n", "prometheus", "is empty; give at least one"),
    "a source without section": (NONE + "prometheus: {default: §}\n", "prometheus.default", "expected a mapping, found nothing"),
    # adapters
    "no adapter type": (NONE + "adapters: {a: §{retries: 1}}\n", "adapters.a.type", "is missing; add one of"),
    "an unknown adapter type": (NONE + "adapters: {a: {type: §grups}}\n", "adapters.a.type", "did you mean `groups`?"),
    "an adapter type that is a number": (NONE + "adapters: {a: {type: §1}}\n", "adapters.a.type", "expected a text"),
    "an adapter that does not load": (NONE + "adapters: {a: {type: §missing}}\n", "adapters.a.type", "fails to load: ModuleNotFoundError"),
    "an adapter whose settings crash": (NONE + "adapters: {a: §{type: faulty}}\n", "adapters.a", "failed to read it: KeyError at /"),
    "an adapter that is a text": (NONE + "adapters: {a: §groups}\n", "adapters.a", "expected a mapping with a type"),
    "no shards": (NONE + "adapters: {a: {type: groups, shards: §0}}\n", "adapters.a.shards", "0 is out of range; write at least 1"),
    "too many shards": (NONE + "adapters: {a: {type: groups, shards: §257}}\n", "adapters.a.shards", "257 is out of range; write at most 256"),
    "shards of a type that has one": (NONE + "adapters: {a: {type: process, §shards: 4, pools: {p: {command: x}}}}\n", "adapters.a.shards", "a connection of type 'process' has one shard; remove it"),
    "a budget without a period": (NONE + "adapters: {a: {type: groups, removalBudget: §{instances: 5}}}\n", "adapters.a.removalBudget.periodSeconds", "is missing; it has no default"),
    "a budget's period that is too long": (NONE + "adapters: {a: {type: groups, removalBudget: {instances: 5, periodSeconds: §1801}}}\n", "adapters.a.removalBudget.periodSeconds", "1801 is out of range; write at most 1800"),
    "an unknown key of an adapter": (NONE + "adapters: {a: {type: groups, §tokenfile: x}}\n", "adapters.a.tokenfile", "did you mean `tokenFile`?"),
    "a connection's name that is not a folder name": (NONE + "adapters: {§../a: {type: groups}}\n", "adapters.'../a'", "is not a valid name"),
    "adapters that are a list": (NONE + "adapters: §[a]\n", "adapters", "expected a mapping, found a list"),
    # queries
    "a query without expr": (NONE + "queries: {a: §{window: 1m}}\n", "queries.a.expr", "is missing; it has no default"),
    "broken PromQL": (NONE + "queries: {a: {expr: §'sum(x'}}\n", "queries.a.expr", "invalid PromQL at character 4: unclosed '('; close it"),
    "a misspelt function": (NONE + "queries: {a: {expr: §'raet(x[5m])'}}\n", "queries.a.expr", "invalid PromQL at character 1: unknown function with name 'raet'; did you mean `rate`?"),
    "wrong arguments": (pods("{expr: §'sum(rate(x))'}"), f"{M}.pods.query.expr", "invalid PromQL at character 5: expected type matrix in call to function 'rate', got vector; correct the arguments"),
    "a label's value without quotes": (NONE + "queries: {a: {expr: §'x{job=web}'}}\n", "queries.a.expr", "invalid PromQL at character 7: unexpected identifier 'web' in label matching, expected string; write the value in quotes"),
    "empty PromQL": (NONE + "queries: {a: {expr: §''}}\n", "queries.a.expr", "invalid PromQL"),
    "PromQL that is a number": (NONE + "queries: {a: {expr: §1}}\n", "queries.a.expr", "write it in quotes"),
    "a bare range": (pods("{expr: §'x[5m]'}"), f"{M}.pods.query.expr", "is a range of samples, not one value each"),
    "a bare subquery": (pods("{expr: §'(x[5m:1m])'}"), f"{M}.pods.query.expr", "is a range of samples"),
    "a string": (pods("{expr: §'\"x\"'}"), f"{M}.pods.query.expr", "is a string, not a number"),
    "too many brackets": (pods("{expr: §" + "(" * 9000 + "}"), f"{M}.pods.query.expr", "the expression has 9,000 operators and brackets, and the limit is 1,000; record it with a recording rule"),
    "brackets too deep": (pods("{expr: §" + "(" * 300 + "x" + ")" * 300 + "}"), f"{M}.pods.query.expr", "nests more than 100 brackets; simplify it"),
    "a range that is too long": (pods("{expr: §'rate(x[9000y])'}"), f"{M}.pods.query.expr", "a range of more than 100 years"),
    "a scalar for each instance": (pods("{expr: §'-(scalar(x) * 2)'}"), f"{M}.pods.query.expr", "is a scalar, one number without labels"),
    "a shared scalar for each instance": (resource().replace("'rate(cpu[5m])'", "time()").replace("ref: cpu", "ref: §rate"), f"{M}.resource.query.ref", "is a scalar"),
    "a scalar for each instance's capacity": (resource(", request: {query: {expr: §'1'}}"), f"{M}.resource.request.query.expr", "is a scalar"),
    "a scalar for each victim": (body(scaleTargetRef="{adapter: a, name: x/y, victims: {select: least, query: {expr: §time()}}}"), f"{R}.victims.query.expr", "is a scalar"),
    "an instance's label for a metric without instances": (metric(GOOD_METRIC.replace("{expr: q}", "{expr: q, instanceLabel: §id}")), f"{M}.external.query.instanceLabel", "is not used here, because the samples belong to no instance; remove it"),
    "neither expr nor ref": (pods("§{window: 1m}"), f"{M}.pods.query", "neither expr nor ref"),
    "expr and ref": (pods("{expr: x, ref: §cpu}"), f"{M}.pods.query.ref", "ref and expr are both given"),
    "match without ref": (pods("{expr: x, match: §{a: b}}"), f"{M}.pods.query.match", "match is only for a ref"),
    "match with a number": (pods("{ref: cpu, match: {a: §1}}"), f"{M}.pods.query.match.a", "write it in quotes"),
    "match with a label that is not valid": (pods('{ref: cpu, match: {§"a\\nb": c}}'), f"{M}.pods.query.match.'a\\nb'", "is not a valid label name"),
    "a dangling ref": (pods("{ref: §cpuu}"), f"{M}.pods.query.ref", "no query 'cpuu' in `queries`; did you mean `cpu`?"),
    "a dangling source": (pods("{expr: x, prometheus: §defalt}"), f"{M}.pods.query.prometheus", "did you mean `default`?"),
    "no default source": ("prometheus: {other: {url: 'http://h'}}\nqueries: {a: §{expr: x}}\n" + NONE, "queries.a.prometheus", "is missing, and `prometheus` has no source 'default'; name one of its sources"),
    "maxAge on a function": (pods("{expr: 'rate(x[5m])', maxAge: §1m}"), f"{M}.pods.query.maxAge", "maxAge needs a plain selector"),
    "maxAge on an offset": (pods("{expr: 'x offset 5m', maxAge: §1m}"), f"{M}.pods.query.maxAge", "maxAge needs a plain selector"),
    "maxAge on a shared function": (pods("{ref: rate, maxAge: §1m}"), f"{M}.pods.query.maxAge", "maxAge needs a plain selector"),
    # autoscalers
    "autoscalers that are a mapping": ("autoscalers: §{}\n", "autoscalers", "expected a list, found a mapping; begin each of its entries with a dash, as in `- name: web`"),
    "an autoscaler that is nothing": ("autoscalers: [§null]\n", "autoscalers[0]", "expected a mapping, found nothing"),
    "no maxReplicas": (body(maxReplicas="").replace("- name", "- §name"), "autoscalers[0].maxReplicas", "is missing; it has no default"),
    "a name with capitals": (body(name="§Web"), "autoscalers[0].name", "'Web' is not a valid name; use at most 253 lower-case"),
    "a label's key with a space": (body(labels="{§a b: c}"), "autoscalers[0].labels.'a b'", "'a b' is not a valid key"),
    "a label's value with a slash": (body(labels="{team: §a/b}"), "autoscalers[0].labels.team", "'a/b' is not a valid label value"),
    "a misspelt key": (body(maxReplica="9").replace("maxReplica:", "§maxReplica:"), "autoscalers[0].maxReplica", "did you mean `maxReplicas`?"),
    "min above max": (body(minReplicas="6", maxReplicas="§5"), "autoscalers[0].maxReplicas", "5 is below minReplicas 6; raise it, or lower minReplicas"),
    "max of 0": (body(maxReplicas="§0"), "autoscalers[0].maxReplicas", "0 is out of range; write at least 1"),
    "max in more than 32 bits": (body(maxReplicas="§2147483648"), "autoscalers[0].maxReplicas", "write at most 2147483647"),
    "max with a thousand digits": (body(maxReplicas="§" + "9" * 1000), "autoscalers[0].maxReplicas", "expected a whole number"),
    "max as text": (body(maxReplicas="§'5'"), "autoscalers[0].maxReplicas", "expected a whole number, found the text '5'; remove the quotes: 5"),
    "max with a leading zero": (body(maxReplicas="§010"), "autoscalers[0].maxReplicas", "found the number 010; write it as 10"),
    "max with a fraction of 0": (body(maxReplicas="§1e1"), "autoscalers[0].maxReplicas", "found the number 1e1; write it as 10"),
    "max with a fraction": (body(maxReplicas="§7.50"), "autoscalers[0].maxReplicas", "found the number 7.50; write a whole number"),
    "max in another notation": (body(maxReplicas="§1_000"), "autoscalers[0].maxReplicas", "found the text '1_000'; write it as 1000"),
    "max in base 16": (body(maxReplicas="§0x1f"), "autoscalers[0].maxReplicas", "found the text '0x1f'; write it as 31"),
    "max with a unit": (body(maxReplicas="§10m"), "autoscalers[0].maxReplicas", "found the text '10m'; write a whole number, without a unit"),
    "max of 301 digits": (body(maxReplicas="§1e300"), "autoscalers[0].maxReplicas", "found the number 1e300; write a whole number"),
    "a negative min": (body(minReplicas="§-1"), "autoscalers[0].minReplicas", "-1 is out of range; write at least 0"),
    "a min of 0 with Pods": (pods().replace("minReplicas: 1", "minReplicas: §0"), "autoscalers[0].minReplicas", "0 needs an Object or External metric"),
    "no metrics": (body(metrics="§[]"), "autoscalers[0].metrics", "is empty; give at least one"),
    # scaleTargetRef
    "a dangling adapter": (body(scaleTargetRef="{adapter: §b, name: x/y}"), f"{R}.adapter", "no connection 'b' in `adapters`"),
    "an empty target": (body(scaleTargetRef="{adapter: a, name: §''}"), f"{R}.name", "is empty"),
    "an invalid target": (body(scaleTargetRef="{adapter: a, name: §web}"), f"{R}.name", "expected JOB/GROUP"),
    "an invalid namespace": (body(scaleTargetRef="{adapter: a, name: x/y, namespace: §'*'}"), f"{R}.namespace", "'*' is not a single namespace"),
    "an adapter that crashes on a target": (body(scaleTargetRef="{adapter: a, name: §web}").replace("groups", "nervous"), f"{R}.name", "failed to check it: ZeroDivisionError at /"),
    "an adapter that crashes on its place": (body(scaleTargetRef="{adapter: a, name: §x/y}").replace("groups", "lost"), f"{R}.name", "failed to check it: LookupError at /"),
    "a key that the adapter does not accept": (body(scaleTargetRef="{adapter: a, name: x/y, region: §eu}"), f"{R}.region", "does not take region; remove it"),
    "victims without query": (body(scaleTargetRef="{adapter: a, name: x/y, victims: §{select: least}}"), f"{R}.victims.query", "select: least needs it"),
    "victims with an unused query": (body(scaleTargetRef="{adapter: a, name: x/y, victims: {select: oldest, query: §{expr: x}}}"), f"{R}.victims.query", "is used with select: least only; remove it, or replace select: oldest"),
    "unknown victims": (body(scaleTargetRef="{adapter: a, name: x/y, victims: {select: §best}}"), f"{R}.victims.select", "write 'oldest', 'newest' or 'least'"),
    # metrics
    "an unknown metric type": (metric("{type: §Pod, pods: {metric: {name: q}, query: {expr: q}, target: {type: AverageValue, averageValue: 1}}}"), f"{M}.type", "the text 'Pod' is not allowed here"),
    "an expression in place of a query": (pods("§q"), f"{M}.pods.query", "expected a mapping, found a text; write `expr: …` on a line of its own below it"),
    "a name in place of a metric": (pods(name="§q"), f"{M}.pods.metric", "expected a mapping, found a text; write `name: …` on a line of its own below it"),
    "no body": (metric("§{type: Pods}"), f"{M}.pods", "is missing; a metric of type Pods needs it"),
    "no body of a long name": (metric("§{type: ContainerResource}"), f"{M}.containerResource", "is missing"),
    "two bodies": (metric(GOOD_METRIC[:-1] + ", object: §{metric: {name: q}, query: {expr: q}, target: {type: Value, value: 1}}}"), f"{M}.object", "does not belong to a metric of type External"),
    "a selector": (pods(name="{name: q, selector: §{matchLabels: {a: b}}}"), f"{M}.pods.metric.selector", "write its matchers into the query"),
    "Value for Pods": (pods(target="{type: §Value, value: 1}"), f"{M}.pods.target.type", "write 'AverageValue'"),
    "Value for a resource": (resource(target="{type: §Value, value: 1}"), f"{M}.resource.target.type", "write 'Utilization' or 'AverageValue'"),
    "Utilization for External": (metric(GOOD_METRIC.replace("{type: Value, value: 1}", "{type: §Utilization, averageUtilization: 1}")), f"{M}.external.target.type", "write 'Value' or 'AverageValue'"),
    "no value": (pods(target="§{type: AverageValue}"), f"{M}.pods.target.averageValue", "is missing; a target of type AverageValue needs it"),
    "a value of another type": (resource(target="{type: Utilization, averageUtilization: 1, averageValue: §1}"), f"{M}.resource.target.averageValue", "does not belong to a target of type Utilization"),
    "a target of 0": (pods(target="{type: AverageValue, averageValue: §0}"), f"{M}.pods.target.averageValue", "0 is not above 0"),
    "a target that is not a quantity": (pods(target="{type: AverageValue, averageValue: §3x}"), f"{M}.pods.target.averageValue", "'3x' is not a valid quantity"),
    "a target too large": (pods(target="{type: AverageValue, averageValue: §10E}"), f"{M}.pods.target.averageValue", "do not fit 63 bits"),
    "an unused request": (resource(", request: §1", "{type: AverageValue, averageValue: 1}"), f"{M}.resource.request", "is used with type Utilization only; remove it, or replace the type AverageValue"),
    "utilization of a worker without a request": (resource().replace("metrics: [{type: Resource, resource: {", "metrics: [{type: Resource, resource: §{").replace("job/web", "w").replace("{type: groups}", "{type: process, pools: {w: {command: [x]}}}"), f"{M}.resource.request", "is missing; Utilization is a share of it, and an instance of this adapter has no reservation of its own; add the capacity of one instance"),
    "a request of 0": (resource(", request: §0"), f"{M}.resource.request", "0 is not above 0"),
    "a request that is a list": (resource(", request: §[1]"), f"{M}.resource.request", "expected a quantity"),
    "a broken request query": (resource(", request: {query: {expr: §'x['}}"), f"{M}.resource.request.query.expr", "invalid PromQL"),
    "an unknown key in a request": (resource(", request: {§qery: {expr: x}, query: {expr: x}}"), f"{M}.resource.request.qery", "did you mean `query`?"),
    "a container for a plain resource": (resource(", §container: x"), f"{M}.resource.container", "unknown key"),
    # brakes
    "brakes as a list": (brakes("§[loss]"), B, "expected a mapping, found a list; write it as {KEY: VALUE, …}"),
    "an unknown brake": (brakes("{§outside: {}}"), f"{B}.outside", "unknown key; did you mean `outsideChange`?"),
    "a brake that is only true": (brakes("{loss: §true}"), f"{B}.loss", "true is not enough; write {} for the defaults, or false for none"),
    "a brake that is a duration": (brakes("{outsideChange: §10m}"), f"{B}.outsideChange", "expected a mapping, found a text; write it as {KEY: VALUE, …}"),
    "a share of 0": (brakes("{unfulfilled: {percent: §0}}"), f"{B}.unfulfilled.percent", "0 is out of range; write at least 1"),
    "a share above 100": (brakes("{loss: {percent: §101}}"), f"{B}.loss.percent", "101 is out of range; write at most 100"),
    "a Deployment's key": (brakes("{unfulfilled: {§progressDeadlineSeconds: 600}}"), f"{B}.unfulfilled.progressDeadlineSeconds", "did you mean `progressDeadline`?"),
    "a share for a brake that has none": (brakes("{outsideChange: {§percent: 30}}"), f"{B}.outsideChange.percent", "unknown key; known: hold"),
    "an invalid brake of the controller": (f"controller: {{brakes: {{loss: {{hold: §-1m}}}}}}\n{NONE}", "controller.brakes.loss.hold", "is not a valid duration"),
    # fallbacks
    "an empty fallback": (external("§{failureDurationSeconds: 60}"), f"{M}.external.fallback", "neither replicas nor query is given; add one of them"),
    "a fallback with replicas and a query": (external("{replicas: 2, query: §{expr: x}}"), f"{M}.external.fallback.query", "replicas and query are both given; remove one of them"),
    "a fallback to 0": (external("{replicas: §0}"), f"{M}.external.fallback.replicas", "0 is out of range; write at least 1"),
    "a fallback above the maximum": (external("{replicas: §6}"), f"{M}.external.fallback.replicas", "6 is above maxReplicas 5; lower it, or raise maxReplicas"),
    "a resource's fallback above the maximum": (resource(", fallback: {replicas: §6}"), f"{M}.resource.fallback.replicas", "6 is above maxReplicas 5"),
    "a fallback at once": (external("{failureDurationSeconds: §0, replicas: 2}"), f"{M}.external.fallback.failureDurationSeconds", "0 is out of range; write at least 1"),
    "a fallback's query for a total by instance": (external("{query: {expr: x, instanceLabel: §pod}}"), f"{M}.external.fallback.query.instanceLabel", "is not used here"),
    "a fallback's scalar for each instance": (resource(", fallback: {query: {expr: §'1'}}"), f"{M}.resource.fallback.query.expr", "is a scalar"),
    # behavior
    "no policies": (down("{policies: §[]}"), f"{D}.policies", "is empty; give at least one"),
    "a window too long": (down("{stabilizationWindowSeconds: §3601}"), f"{D}.stabilizationWindowSeconds", "write at most 3600"),
    "a period too long": (down("{policies: [{type: Pods, value: 1, periodSeconds: §1801}]}"), f"{D}.policies[0].periodSeconds", "write at most 1800"),
    "an unknown policy": (down("{policies: [{type: §Instances, value: 1, periodSeconds: 1}]}"), f"{D}.policies[0].type", "write 'Pods' or 'Percent'"),
    "an unknown choice": (down("{selectPolicy: §max}"), f"{D}.selectPolicy", "write 'Max', 'Min' or 'Disabled'"),
}  # fmt: skip
