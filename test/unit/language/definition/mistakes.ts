/* oxlint-disable unicorn/no-thenable -- `then` is a property of the DSL */
import type { Loose } from './correct.ts';

/**
 * One change to the correct definition, and the beginning or a part of each problem that it gives, in order.
 */
export interface Mistake {
  title: string;
  change: (definition: Loose) => void;
  expected: string[];
}

export function task(definition: Loose, name: string): Loose {
  return definition.do.find((item: Loose) => name in item)[name];
}

function rename(owner: Loose, from: string, to: string): void {
  owner[to] = owner[from];
  delete owner[from];
}

function map(more: Record<string, unknown>): Loose {
  return { call: 'map', with: { in: '.items', do: [{ b: { set: { x: 1 } } }], ...more } };
}

export const mistakes: Mistake[] = [
  // document and top level
  {
    title: 'no name in the document',
    change: (d) => delete d.document.name,
    expected: ['error required /document/name: "name" is missing'],
  },
  {
    title: 'a typo in the document',
    change: (d) => rename(d.document, 'namespace', 'namspace'),
    expected: [
      'error unknown_property /document/namspace: "document" has no property "namspace", did ' +
        'you mean "namespace"?',
    ],
  },
  {
    title: 'a name that is no label',
    change: (d) => (d.document.name = 'my order'),
    expected: ['error invalid_value /document/name'],
  },
  {
    title: 'an invalid version',
    change: (d) => (d.document.version = '1.0'),
    expected: ['error invalid_value /document/version: "version" must be a semantic version'],
  },
  {
    title: 'another version of the DSL',
    change: (d) => (d.document.dsl = '2.0.0'),
    expected: ['unsupported unsupported_dsl /document/dsl'],
  },
  {
    title: 'a misspelt "do"',
    change: (d) => rename(d, 'do', 'doo'),
    expected: ['error unknown_property /doo: a definition has no property "doo", did you mean "do"?'],
  },
  { title: 'no "do"', change: (d) => delete d.do, expected: ['error required /do: "do" is missing'] },
  {
    title: '"do" as an object',
    change: (d) => (d.do = { a: { set: { b: 1 } } }),
    expected: ['error wrong_type /do: "do" must be a list'],
  },
  {
    title: 'an empty "do"',
    change: (d) => (d.do = []),
    expected: ['error invalid_value /do: "do" needs at least one task'],
  },
  {
    title: 'an unknown top-level property',
    change: (d) => (d.foo = 1),
    expected: ['error unknown_property /foo: a definition has no property "foo"; known: document'],
  },
  {
    title: 'a schedule by events that reads what only runs have',
    change: (d) => (d.schedule = { on: { one: { with: { type: '${ $context.kind }' } } } }),
    expected: [
      'error variable_not_available /schedule/on/one/with/type: $context does not exist in schedule.on',
    ],
  },
  {
    title: 'two kinds of schedule',
    change: (d) => Object.assign(d, { schedule: { cron: '0 0 * * *', every: { hours: 1 } }, input: {} }),
    expected: ['unsupported unsupported_schedule_combined /schedule: a schedule has one of'],
  },
  {
    title: 'a schedule that does not repeat after whole seconds',
    change: (d) => (d.schedule = { every: { milliseconds: 1500 } }),
    expected: ['error no_whole_seconds /schedule/every: a schedule repeats after whole seconds'],
  },
  {
    title: 'a schedule of a day that its month does not have',
    change: (d) => Object.assign(d, { schedule: { cron: '0 8 31 2 *' }, input: {} }),
    expected: ['warning never_comes /schedule/cron: never comes'],
  },
  {
    title: 'a schedule of a workflow whose input schema refuses {}',
    change: (d) => {
      d.schedule = { every: { hours: 1 } };
      d.input = { schema: { document: { type: 'object', required: ['order'] } } };
    },
    expected: [
      'warning input_missing /schedule/every: no run can start: by the clock its input is {}, of which the ' +
        'input schema says: "order" is missing',
    ],
  },
  {
    title: 'a filter of events with an attribute that is nearly one of CloudEvents',
    change: (d) =>
      (d.schedule = { on: { one: { with: { typ: 'order.paid', tenant: 'a', uid: 'b', source: 'c' } } } }),
    expected: [
      'warning similar_attribute /schedule/on/one/with/typ: only events with an extension attribute "typ" ' +
        'fit; did you mean "type"?',
    ],
  },
  {
    title: 'an expression in a schedule',
    change: (d) => (d.schedule = { after: '${ "PT1H" }' }),
    expected: ['error expression_not_allowed /schedule/after'],
  },
  {
    title: 'a cron with three fields',
    change: (d) => (d.schedule = { cron: '0 0 *' }),
    expected: ['error invalid_value /schedule/cron: "cron" must have five fields, such as 0 9 * * 1-5'],
  },
  {
    title: 'another expression language',
    change: (d) => (d.evaluate = { language: 'js' }),
    expected: ['unsupported unsupported_evaluate_language /evaluate/language'],
  },
  {
    title: 'an unknown evaluation mode',
    change: (d) => (d.evaluate = { mode: 'lose' }),
    expected: [
      'error not_allowed /evaluate/mode: "mode" must be one of strict, loose, did you mean "loose"?',
    ],
  },

  // task lists and kinds
  {
    title: 'an unknown kind of task',
    change: (d) => rename(task(d, 'fetch'), 'call', 'cal'),
    expected: ['error unknown_task /do/1/fetch/cal: "cal" is not a kind of task, did you mean "call"?'],
  },
  {
    title: 'a task without a kind',
    change: (d) => (d.do[0].prepare = { metadata: {} }),
    expected: ['error unknown_task /do/0/prepare: a task has one of these properties: call, do, emit'],
  },
  {
    title: 'a task that is a text',
    change: (d) => (d.do[0].prepare = 'set'),
    expected: ['error wrong_type /do/0/prepare: a task is an object'],
  },
  {
    title: 'an item with two tasks',
    change: (d) => (d.do[0].other = { set: { a: 1 } }),
    expected: [
      'error task_item /do/0: an item of a task list has exactly one property, the name of its ' +
        'task; this one has 2',
    ],
  },
  {
    title: 'a task without a name',
    change: (d) => (d.do[0] = { set: { a: 1 }, then: 'fetch' }),
    expected: ['error task_item /do/0: the task has no name: write {"<name>": {"set": …}}'],
  },
  {
    title: 'a task without a name, one property',
    change: (d) => (d.do[0] = { set: { a: 1 } }),
    expected: ['error task_item /do/0/set: the task has no name'],
  },
  {
    title: 'an item that is a text',
    change: (d) => (d.do[0] = 'prepare'),
    expected: ['error wrong_type /do/0: an item of a task list'],
  },
  {
    title: 'two kinds in one task',
    change: (d) => (task(d, 'prepare').wait = 'PT1S'),
    expected: ['error unknown_property /do/0/prepare/wait: a set task has no property "wait"'],
  },
  {
    title: 'duplicate names',
    change: (d) => d.do.splice(1, 0, { prepare: { set: { a: 1 } } }),
    expected: ['error duplicate_name /do/1/prepare: there are two tasks "prepare" in this list'],
  },
  {
    title: 'a name that is a directive',
    change: (d) => d.do.unshift({ exit: { set: { a: 1 } } }),
    expected: ['warning reserved_name /do/0/exit'],
  },
  {
    title: 'the same name in another list',
    change: (d) => task(d, 'each').do.push({ prepare: { set: { a: 1 } } }),
    expected: [],
  },

  // flow
  {
    title: 'then to nowhere',
    change: (d) => (task(d, 'order').then = 'finsh'),
    expected: [
      'error then_target /do/6/order/then: there is no task "finsh" in this list, did you mean "finish"?',
    ],
  },
  {
    title: 'then into another list',
    change: (d) => (task(d, 'order').then = 'buy'),
    expected: ['error then_target /do/6/order/then: there is no task "buy" in this list; "then" reaches'],
  },
  {
    title: 'a case to nowhere',
    change: (d) => (task(d, 'decide').switch[0].yes.then = 'orders'),
    expected: [
      'error then_target /do/5/decide/switch/0/yes/then: there is no task "orders" in this ' +
        'list, did you mean "order"?',
    ],
  },
  {
    title: 'catch.then to nowhere',
    change: (d) => (task(d, 'order').catch.then = 'nirvana'),
    expected: ['error then_target /do/6/order/catch/then'],
  },
  {
    title: 'a function that goes on to a task',
    change: (d) => (d.use.functions.leave = { set: { gone: true }, then: 'order' }),
    expected: [
      'error then_target /use/functions/leave/then: a function cannot go on to the task ' +
        '"order": use continue, exit or end',
    ],
  },
  {
    title: 'a case of a function that goes on to a task',
    change: (d) => (d.use.functions.leave = { switch: [{ all: { then: 'order' } }] }),
    expected: ['error then_target /use/functions/leave/switch/0/all/then: a function cannot go on'],
  },
  {
    title: 'a branch that goes to another',
    change: (d) => (task(d, 'both').fork.branches[0].left.then = 'right'),
    expected: ['error then_target /do/3/both/fork/branches/0/left/then: branches run side by side'],
  },
  {
    title: 'a task that is never reached',
    change: (d) => (task(d, 'prepare').then = 'each'),
    expected: ['warning unreachable /do/1/fetch: "fetch" is never reached'],
  },
  {
    title: 'several tasks after an end, of which the first is reported',
    change: (d) =>
      (d.do = [{ a: { set: { x: 1 }, then: 'end' } }, { b: { set: { x: 1 } } }, { c: { set: { x: 1 } } }]),
    expected: ['warning unreachable /do/1/b'],
  },
  {
    title: 'a busy loop without an exit',
    change: (d) => (d.do = [{ a: { set: { x: 1 } } }, { b: { set: { x: 2 }, then: 'a' } }]),
    expected: ['error endless_loop /do/1/b/then: this loop has no way out'],
  },
  {
    title: 'a task that goes to itself',
    change: (d) => (d.do = [{ a: { set: { x: 1 }, then: 'a' } }]),
    expected: ['error endless_loop /do/0/a/then'],
  },
  {
    title: 'a loop with a wait but without an exit',
    change: (d) => (d.do = [{ a: { wait: 'PT1M' } }, { b: { set: { x: 2 }, then: 'a' } }]),
    expected: ['warning endless_loop /do/1/b/then'],
  },
  {
    title: 'a loop that a switch leaves',
    change: (d) =>
      (d.do = [
        { a: { set: { x: 1 } } },
        { b: { switch: [{ out: { when: '.x', then: 'end' } }, { on: { then: 'a' } }] } },
      ]),
    expected: [],
  },
  {
    title: 'a loop that an if leaves',
    change: (d) => (d.do = [{ a: { set: { x: 1 } } }, { b: { if: '.x', set: { y: 1 }, then: 'a' } }]),
    expected: [],
  },
  {
    title: 'a loop that ends inside',
    change: (d) => (d.do = [{ a: { do: [{ b: { if: '.x', set: { y: 1 }, then: 'end' } }], then: 'a' } }]),
    expected: [],
  },

  // set, switch, for, fork, wait
  {
    title: 'set with nothing',
    change: (d) => (task(d, 'prepare').set = {}),
    expected: ['error invalid_value /do/0/prepare/set'],
  },
  {
    title: 'set with a number',
    change: (d) => (task(d, 'prepare').set = 5),
    expected: ['error wrong_type /do/0/prepare/set: "set" must be an object or text'],
  },
  {
    title: 'a text that is no expression',
    change: (d) => (task(d, 'prepare').set.items = '.items'),
    expected: [
      'warning plain_text /do/0/prepare/set/items: ".items" is passed on as text: to evaluate ' +
        'it write "${ .items }"',
    ],
  },
  {
    title: 'a case without then',
    change: (d) => delete task(d, 'decide').switch[0].yes.then,
    expected: ['error required /do/5/decide/switch/0/yes/then: "then" is missing'],
  },
  {
    title: 'two default cases',
    change: (d) => delete task(d, 'decide').switch[0].yes.when,
    expected: ['error second_default /do/5/decide/switch/1/no: "yes" is the default case already'],
  },
  {
    title: 'for without in',
    change: (d) => delete task(d, 'each').for.in,
    expected: ['error required /do/2/each/for/in: "in" is missing'],
  },
  {
    title: 'for without do',
    change: (d) => delete task(d, 'each').do,
    expected: ['error required /do/2/each/do: "do" is missing'],
  },
  {
    title: 'a loop variable with $',
    change: (d) => (task(d, 'each').for = { in: '.items', each: '$item', at: 'position' }),
    expected: ['error variable_name /do/2/each/for/each: "$item" is not a valid variable name'],
  },
  {
    title: 'a loop variable with a reserved name',
    change: (d) => {
      task(d, 'each').for.at = 'context';
      delete task(d, 'each').while;
    },
    expected: ['error reserved_name /do/2/each/for/at: $context is reserved'],
  },
  {
    title: 'a map, with the item and its index in scope of its tasks only',
    change: (d) => (d.do = [{ a: map({ do: [{ b: { set: { x: '${ $item + $index }' } } }] }) }]),
    expected: [],
  },
  {
    title: 'a map whose variable is read outside of it',
    change: (d) => (d.do = [{ a: map({ in: '$item' }) }]),
    expected: ['error undefined_variable /do/0/a/with/in: $item is not defined'],
  },
  {
    title: 'a map whose variable has another name',
    change: (d) => (d.do = [{ a: map({ as: 'x', do: [{ b: { set: { y: '${ $item }' } } }] }) }]),
    expected: ['error undefined_variable /do/0/a/with/do/0/b/set/y: $item is not defined'],
  },
  {
    title: 'a map with two variables of one name',
    change: (d) => (d.do = [{ a: map({ as: 'x', at: 'x' }) }]),
    expected: ['error duplicate_name /do/0/a/with/at: $x is declared twice'],
  },
  {
    title: 'a map without do',
    change: (d) => (d.do = [{ a: { call: 'map', with: { in: [] } } }]),
    expected: ['error required /do/0/a/with/do: "do" is missing'],
  },
  {
    title: 'a map of nothing',
    change: (d) => (d.do = [{ a: map({ do: [] }) }]),
    expected: ['error invalid_value /do/0/a/with/do: "do" needs at least one task'],
  },
  {
    title: 'a map with too many items at the same time',
    change: (d) => (d.do = [{ a: map({ concurrency: 1001 }) }]),
    expected: ['error invalid_value /do/0/a/with/concurrency: "concurrency" must be 1 to 1000'],
  },
  {
    title: 'a mistake in a task of a map',
    change: (d) => (d.do = [{ a: map({ do: [{ b: { set: { x: 1 }, then: 'c' } }] }) }]),
    expected: ['error then_target /do/0/a/with/do/0/b/then: there is no task "c" in this list'],
  },
  {
    title: 'a loop over a map that only computes',
    change: (d) => (d.do = [{ a: { ...map({}), then: 'a' } }]),
    expected: ['error endless_loop /do/0/a/then: this loop has no way out'],
  },
  {
    title: 'a function of its own that is called map',
    change: (d) => {
      d.use.functions.map = { set: { x: 1 } };
      d.do = [{ a: { call: 'map', with: { do: [{ b: { set: {}, then: 'c' } }] } } }];
    },
    expected: [],
  },
  {
    title: 'compete as a text',
    change: (d) => (task(d, 'both').fork.compete = 'yes'),
    expected: ['error wrong_type /do/3/both/fork/compete: "compete" must be true or false'],
  },
  {
    title: 'a fork without branches',
    change: (d) => (task(d, 'both').fork.branches = []),
    expected: ['error invalid_value /do/3/both/fork/branches: "branches" needs at least one branch'],
  },
  {
    title: 'an invalid wait',
    change: (d) => (task(d, 'order').catch.do[0].later.wait = '10s'),
    expected: [
      'error invalid_value /do/6/order/catch/do/0/later/wait: "wait" is not a duration: "10s" is ' +
        'not an ISO 8601 duration',
    ],
  },
  {
    title: 'a wait in months',
    change: (d) => (task(d, 'order').catch.do[0].later.wait = 'P1M'),
    expected: [
      'error invalid_value /do/6/order/catch/do/0/later/wait: "wait" is not a duration: years and ' +
        'months have no fixed length',
    ],
  },
  {
    title: 'a typo in a duration',
    change: (d) => (d.timeout.after = { hour: 1 }),
    expected: [
      'error invalid_value /timeout/after: "after" is not a duration: "hour" is not a unit of duration',
    ],
  },

  // try, raise, run
  {
    title: 'try without catch',
    change: (d) => delete task(d, 'order').catch,
    expected: ['error required /do/6/order/catch: "catch" is missing'],
  },
  {
    title: 'an unknown retry policy',
    change: (d) => (task(d, 'order').catch.retry = 'gentle'),
    expected: [
      'error unknown_retry /do/6/order/catch/retry: use.retries has no "gentle", did you mean "gently"?',
    ],
  },
  {
    title: 'two kinds of backoff',
    change: (d) => (d.use.retries.gently.backoff = { linear: {}, constant: {} }),
    expected: [
      'error invalid_value /use/retries/gently/backoff: "backoff" needs exactly one of: ' +
        'constant, exponential, linear',
    ],
  },
  {
    title: 'a retry without a limit',
    change: (d) => (d.use.retries.gently = { delay: 'PT1S' }),
    expected: ['warning retry_without_limit /use/retries/gently'],
  },
  {
    title: 'a standard error misspelt',
    change: (d) =>
      (task(d, 'order').catch.errors.with.type =
        'https://open-workflow-specification.org/spec/1.0.0/errors/comunication'),
    expected: [
      'warning error_type /do/6/order/catch/errors/with/type: "comunication" is not a standard ' +
        'error type, did you mean "communication"?',
    ],
  },
  {
    title: 'an unknown error',
    change: (d) => (task(d, 'refuse').raise.error = 'soldout'),
    expected: [
      'error unknown_error /do/7/refuse/raise/error: use.errors has no "soldout", did you mean "soldOut"?',
    ],
  },
  {
    title: 'an error without a status',
    change: (d) => delete d.use.errors.soldOut.status,
    expected: ['error required /use/errors/soldOut/status: "status" is missing'],
  },
  {
    title: 'an error with a wild status',
    change: (d) => (d.use.errors.soldOut.status = 7),
    expected: ['error invalid_value /use/errors/soldOut/status'],
  },
  {
    title: 'run with two processes',
    change: (d) => (task(d, 'both').fork.branches[1].right.run.shell = { command: 'ls' }),
    expected: ['error invalid_value /do/3/both/fork/branches/1/right/run: "run" needs exactly one of'],
  },
  {
    title: 'a script in an unknown language',
    change: (d) =>
      (task(d, 'both').fork.branches[1].right.run = { script: { language: 'typescript', code: '1' } }),
    expected: [
      'error not_allowed /do/3/both/fork/branches/1/right/run/script/language: ' +
        '"language" must be one of js, javascript, python',
    ],
  },
  {
    title: 'a secret as the image of a container',
    change: (d) =>
      (task(d, 'both').fork.branches[1].right.run = {
        container: { image: `\${ $secrets.${d.use.secrets[0]} }` },
      }),
    expected: ['error secret_exposed /do/3/both/fork/branches/1/right/run/container/image'],
  },
  {
    title: 'run without a version',
    change: (d) => delete task(d, 'both').fork.branches[1].right.run.workflow.version,
    expected: ['error required /do/3/both/fork/branches/1/right/run/workflow/version'],
  },
  {
    title: 'a child workflow of an invalid version',
    change: (d) => (task(d, 'both').fork.branches[1].right.run.workflow.version = '1'),
    expected: [
      'error version /do/3/both/fork/branches/1/right/run/workflow/version: "1" must be a ' +
        'semantic version such as 1.0.0, or latest',
    ],
  },
  {
    title: 'emit',
    change: (d) =>
      (d.do[0].prepare = { emit: { event: { with: { source: 'https://example.com', type: 'a.b' } } } }),
    expected: [],
  },
  {
    title: 'emit without a type',
    change: (d) => (d.do[0].prepare = { emit: { event: { with: {} } } }),
    expected: ['error required /do/0/prepare/emit/event/with/type'],
  },
  {
    title: 'emit with an attribute unknown to CloudEvents',
    change: (d) => (d.do[0].prepare = { emit: { event: { with: { type: 'a.b', order_id: '1' } } } }),
    expected: ['error not_allowed /do/0/prepare/emit/event/with/order_id'],
  },
  {
    title: 'emit in another version of CloudEvents',
    change: (d) => (d.do[0].prepare = { emit: { event: { with: { type: 'a.b', specversion: '0.3' } } } }),
    expected: ['error not_allowed /do/0/prepare/emit/event/with/specversion'],
  },
  {
    title: 'listen without an event',
    change: (d) => (d.do[0].prepare = { listen: { to: {} } }),
    expected: ['error invalid_value /do/0/prepare/listen/to: "to" needs exactly one of: all, any, one'],
  },
  {
    title: 'listen with filters that cannot fit',
    change: (d) =>
      (d.do[0].prepare = {
        listen: {
          to: {
            all: [
              { with: { order_id: '1', data: { a: '${ .x + }' } }, correlate: { n: { from: '.data |' } } },
              { with: { type: 'order.(paid' } },
            ],
            until: 'true',
          },
        },
      }),
    expected: [
      'error not_allowed /do/0/prepare/listen/to/all/0/with/order_id',
      'error expression /do/0/prepare/listen/to/all/0/with/data/a',
      'error expression /do/0/prepare/listen/to/all/0/correlate/n/from',
      'warning no_pattern /do/0/prepare/listen/to/all/1/with/type',
      'warning ignored /do/0/prepare/listen/to/until',
    ],
  },
  {
    title: 'listen to all of nothing',
    change: (d) => (d.do[0].prepare = { listen: { to: { all: [] } } }),
    expected: ['error too_few /do/0/prepare/listen/to/all: needs at least one filter'],
  },

  // calls
  {
    title: 'an unknown function',
    change: (d) => (task(d, 'both').fork.branches[0].left.call = 'notfy'),
    expected: [
      'error unknown_function /do/3/both/fork/branches/0/left/call: there is no function ' +
        '"notfy", did you mean "notify"?',
    ],
  },
  {
    title: 'a typo of a built-in',
    change: (d) => (task(d, 'fetch').call = 'htpp'),
    expected: ['error unknown_function /do/1/fetch/call: there is no function "htpp", did you mean "http"?'],
  },
  {
    title: 'a name that is like no function that works',
    change: (d) => (task(d, 'fetch').call = 'graphql'),
    expected: [
      'error unknown_function /do/1/fetch/call: there is no function "graphql"; known: notify, ' +
        'http, agent, human, map, openapi, grpc, asyncapi, a2a, mcp',
    ],
  },
  {
    title: 'call: grpc with typos and a document of a strange scheme',
    change: (d) => {
      const service = { nam: 'a.B', host: 'https://example.com', port: 0 };
      const proto = { endpoint: 'ftp://example.com/a.proto' };
      Object.assign(task(d, 'fetch'), { call: 'grpc', with: { proto, service, methd: 'C' } });
    },
    expected: [
      'error invalid_value /do/1/fetch/with/service/host: "host" must be a host name',
      'error unknown_property /do/1/fetch/with/service/nam: "service" has no property "nam", did you mean',
      'error unknown_property /do/1/fetch/with/methd: "with" has no property "methd", did you mean "method"?',
      'error endpoint /do/1/fetch/with/proto/endpoint: "ftp://example.com/a.proto" must begin with http',
      'error invalid_value /do/1/fetch/with/service/port',
    ],
  },
  {
    title: 'credentials for gRPC without encryption',
    change: (d) =>
      Object.assign(task(d, 'fetch'), {
        call: 'grpc',
        with: {
          proto: { endpoint: 'https://example.com/a.proto' },
          service: {
            name: 'a.B',
            host: 'example.com',
            port: 5000,
            authentication: { basic: { username: 'a', password: 'b' } },
          },
          method: 'C',
        },
      }),
    expected: ['warning plain_text /do/1/fetch/with/service/authentication: sends credentials without'],
  },
  {
    title: 'call: mcp with an unknown method and two transports',
    change: (d) =>
      Object.assign(task(d, 'fetch'), {
        call: 'mcp',
        with: {
          method: 'tools/cal',
          transport: { http: { endpoint: 'example.com/mcp' }, stdio: { command: 'files' } },
        },
      }),
    expected: [
      'error not_allowed /do/1/fetch/with/method: "method" must be one of tools/list, tools/call,',
      'error invalid_value /do/1/fetch/with/transport: "transport" needs exactly one of: http, stdio',
      'error endpoint /do/1/fetch/with/transport/http/endpoint: "example.com/mcp" must begin with http',
    ],
  },
  {
    title: 'a function by URL',
    change: (d) =>
      Object.assign(task(d, 'fetch'), { call: 'https://example.com/function.yaml', with: { id: 1 } }),
    expected: [
      'warning resource_not_checked /do/1/fetch/call: "https://example.com/function.yaml" is fetched and ' +
        'checked when the definition is saved',
    ],
  },
  {
    title: 'a secret for a function by URL',
    change: (d) => (task(d, 'fetch').call = 'https://example.com/function.yaml'),
    expected: [
      'warning resource_not_checked /do/1/fetch/call',
      'error secret_exposed /do/1/fetch/with/headers/x-key',
    ],
  },
  {
    title: 'a function of a catalog without a version',
    change: (d) => {
      d.use.catalogs = { mine: { endpoint: 'https://example.com/catalog' } };
      task(d, 'ask').call = 'log@mine';
    },
    expected: ['error unknown_function /do/4/ask/call: a function of a catalog has a version'],
  },
  {
    title: 'a catalog with an expression as its address',
    change: (d) => (d.use.catalogs = { mine: { endpoint: '${ .catalog }' } }),
    expected: ['error resource_address /use/catalogs/mine/endpoint'],
  },
  {
    title: 'an external schema with an expression as its address',
    change: (d) => (d.input.schema = { resource: { endpoint: '${ .schema }' } }),
    expected: ['error resource_address /input/schema/resource'],
  },
  {
    title: 'a function by an address that is not of the web',
    change: (d) => Object.assign(task(d, 'ask'), { call: 'file:///etc/passwd', with: {} }),
    expected: ['error resource_address /do/4/ask/call'],
  },
  {
    title: 'an extension of an unknown kind with a task that does not exist',
    change: (d) => (d.use.extensions = [{ log: { extend: 'http', before: [{ a: { sett: {} } }] } }]),
    expected: [
      'error not_allowed /use/extensions/0/log/extend',
      'error unknown_task /use/extensions/0/log/before/0/a/sett: "sett" is not a kind of task',
    ],
  },
  {
    title: 'an extension that reads a secret in when',
    change: (d) => (d.use.extensions = [{ log: { extend: 'all', when: '$secrets.shopToken', after: [] } }]),
    expected: ['error secret_exposed /use/extensions/0/log/when'],
  },
  {
    title: 'an unknown parameter of a backoff',
    change: (d) => (d.use.retries.gently.backoff = { exponential: { multiplier: 2 } }),
    expected: ['error unknown_property /use/retries/gently/backoff/exponential/multiplier'],
  },
  {
    title: 'a factor of a backoff that is too small',
    change: (d) => (d.use.retries.gently.backoff = { exponential: { factor: 0.5 } }),
    expected: ['error invalid_value /use/retries/gently/backoff/exponential/factor'],
  },
  {
    title: 'another version of human',
    change: (d) => (task(d, 'ask').call = 'human:2.0.0@default'),
    expected: ['error unknown_function /do/4/ask/call: human has no version "2.0.0"'],
  },
  {
    title: 'an unknown catalog',
    change: (d) => (task(d, 'ask').call = 'log:1.0.0@mine'),
    expected: ['error unknown_catalog /do/4/ask/call: use.catalogs has no "mine"'],
  },
  {
    title: 'a function with the name of a built-in',
    change: (d) => (d.use.functions.grpc = { set: { a: 1 } }),
    expected: ['error reserved_name /use/functions/grpc'],
  },
  {
    title: 'a function that calls itself',
    change: (d) => (d.use.functions.notify = { do: [{ again: { call: 'notify' } }] }),
    expected: [
      'error function_cycle /use/functions/notify: the function calls itself endlessly: notify → notify',
    ],
  },
  {
    title: 'a mistake in a function',
    change: (d) => delete d.use.functions.notify.with.method,
    expected: ['error required /use/functions/notify/with/method: "method" is missing'],
  },
  {
    title: 'a typo in the parameters of http',
    change: (d) => rename(task(d, 'fetch').with, 'endpoint', 'endpont'),
    expected: [
      'error unknown_property /do/1/fetch/with/endpont: "with" has no property "endpont", did ' +
        'you mean "endpoint"?',
    ],
  },
  {
    title: 'headers that no request can have',
    change: (d) => {
      Object.assign(task(d, 'fetch').with, {
        headers: { Host: 'a', 'x y': 'b', 'x-line': 'a\nb', 'x-own': '${ .a }', 'x-late': 'a\n${ .b }' },
      });
    },
    expected: [
      'error invalid_header /do/1/fetch/with/headers/Host: "Host" is a header that the platform sets itself',
      'error invalid_header /do/1/fetch/with/headers/x y: "x y" is no name of a header',
      'error invalid_header /do/1/fetch/with/headers/x-line: "x-line" has a line break',
    ],
  },
  {
    title: 'headers of a message by HTTP that no request can have, and those of another protocol',
    change: (d) => {
      const headers = { Host: 'a', 'x-line': 'a\nb', 'x-own': '${ .a }' };
      const sent = (protocol: string) => ({
        call: 'asyncapi',
        with: {
          document: { endpoint: 'https://example.com/async' },
          operation: 'send',
          protocol,
          message: { payload: {}, headers },
        },
      });
      d.do.unshift({ byHttp: sent('http') }, { byKafka: sent('kafka') });
    },
    expected: [
      'error invalid_header /do/0/byHttp/with/message/headers/Host: "Host" is a header that the',
      'error invalid_header /do/0/byHttp/with/message/headers/x-line: "x-line" has a line break',
    ],
  },
  {
    title: 'headers of MCP and a token that cannot be sent',
    change: (d) => {
      const http = { endpoint: 'https://example.com', headers: { 'Content-Length': '1' } };
      Object.assign(task(d, 'fetch'), {
        call: 'mcp',
        with: { method: 'tools/list', transport: { http } },
      });
      d.use.authentications.broken = { bearer: { token: 'a\nb' } };
    },
    expected: [
      'transport/http/headers/Content-Length: "Content-Length" is a header that the platform sets itself',
      'error invalid_header /use/authentications/broken/bearer/token: "token" has a line break',
    ],
  },
  {
    title: 'call: http without "with"',
    change: (d) => delete task(d, 'fetch').with,
    expected: ['error required /do/1/fetch/with: "with" is missing'],
  },
  {
    title: 'an unknown HTTP method',
    change: (d) => (task(d, 'fetch').with.method = 'GETT'),
    expected: [
      'error not_allowed /do/1/fetch/with/method: "GETT" is not one of GET, POST, PUT, PATCH, ' +
        'DELETE, HEAD, OPTIONS, did you mean "GET"?',
    ],
  },
  {
    title: 'headers as a text',
    change: (d) => (task(d, 'fetch').with.headers = '.headers'),
    expected: ['error wrong_type /do/1/fetch/with/headers: "headers" must be an object, or an expression'],
  },
  {
    title: 'a child workflow by expression',
    change: (d) => (task(d, 'both').fork.branches[1].right.run.workflow.name = '${ .name }'),
    expected: [],
  },
  {
    title: 'a relative endpoint',
    change: (d) => (task(d, 'fetch').with.endpoint.uri = '/items'),
    expected: ['error endpoint /do/1/fetch/with/endpoint/uri: "/items" must begin with http:// or https://'],
  },
  {
    title: 'a URI template with an operator',
    change: (d) => (task(d, 'fetch').with.endpoint.uri = 'https://example.com/{?q}'),
    expected: ['error uri_template /do/1/fetch/with/endpoint/uri: "{?q}": only {name}'],
  },
  {
    title: 'an unknown authentication',
    change: (d) => (task(d, 'fetch').with.endpoint.authentication.use = 'shops'),
    expected: [
      'error unknown_authentication /do/1/fetch/with/endpoint/authentication/use: ' +
        'use.authentications has no "shops", did you mean "shop"?',
    ],
  },
  {
    title: 'two authentications',
    change: (d) => (task(d, 'fetch').with.endpoint.authentication.bearer = { token: 'x' }),
    expected: [
      'error invalid_value /do/1/fetch/with/endpoint/authentication: "authentication" needs ' +
        'exactly one of: use, basic',
    ],
  },
  {
    title: 'digest authentication',
    change: (d) => (d.use.authentications.shop = { digest: { username: 'a', password: 'b' } }),
    expected: [],
  },
  {
    title: 'a grant that needs a person',
    change: (d) =>
      (d.use.authentications.shop = {
        oauth2: { authority: 'https://a.example', grant: 'authorization_code', client: { id: 'me' } },
      }),
    expected: ['unsupported unsupported_auth_grant /use/authentications/shop/oauth2/grant'],
  },
  {
    title: 'the grant password without one',
    change: (d) =>
      (d.use.authentications.shop = {
        oidc: {
          authority: 'https://a.example',
          grant: 'password',
          username: 'ada',
          client: { authentication: 'none' },
        },
      }),
    expected: ['error required /use/authentications/shop/oidc/password'],
  },
  {
    title: 'a client without id, and private_key_jwt without assertion',
    change: (d) =>
      (d.use.authentications.shop = {
        oauth2: {
          authority: 'https://a.example',
          grant: 'client_credentials',
          client: { authentication: 'private_key_jwt' },
        },
      }),
    expected: [
      'error required /use/authentications/shop/oauth2/client/id',
      'error required /use/authentications/shop/oauth2/client/assertion',
    ],
  },
  {
    title: 'an undeclared secret',
    change: (d) => (d.use.authentications.shop.bearer.use = 'token'),
    expected: [
      'error unknown_secret /use/authentications/shop/bearer/use: use.secrets has no "token"; ' +
        'declare it in use.secrets',
    ],
  },
  {
    title: 'an unknown timeout',
    change: (d) => (task(d, 'fetch').timeout = 'shrt'),
    expected: [
      'error unknown_timeout /do/1/fetch/timeout: use.timeouts has no "shrt", did you mean "short"?',
    ],
  },
  {
    title: 'a duration as a timeout',
    change: (d) => (task(d, 'fetch').timeout = 'PT10S'),
    expected: [
      'error unknown_timeout /do/1/fetch/timeout: use.timeouts has no "PT10S"; a duration is ' +
        'written {"after": "PT10S"}',
    ],
  },
  {
    title: 'agent without an agent',
    change: (d) => delete task(d, 'each').do[0].check.with.agent,
    expected: ['error required /do/2/each/do/0/check/with/agent'],
  },
  {
    title: 'an agent of an invalid version',
    change: (d) => (task(d, 'each').do[0].check.with.version = 'newest'),
    expected: [
      'error version /do/2/each/do/0/check/with/version: "newest" is not a semantic version or range',
    ],
  },
  {
    title: 'an agent call with a text as "stream"',
    change: (d) => (task(d, 'each').do[0].check.with.stream = 'yes'),
    expected: ['error wrong_type /do/2/each/do/0/check/with/stream: "stream" must be true, false'],
  },

  // human
  {
    title: 'a human task without a title',
    change: (d) => delete task(d, 'ask').with.title,
    expected: ['error required /do/4/ask/with/title'],
  },
  {
    title: 'exclude_initiator without candidates',
    change: (d) => delete task(d, 'ask').with.candidates,
    expected: ['error no_candidates /do/4/ask/with/quorum/exclude_initiator'],
  },
  {
    title: 'no candidates',
    change: (d) => (task(d, 'ask').with.candidates = { users: [] }),
    expected: ['error no_candidates /do/4/ask/with/candidates: is empty'],
  },
  {
    title: 'a form that is not a JSON Schema',
    change: (d) => (task(d, 'ask').with.form.properties.amount.type = 'numbr'),
    expected: [
      'error json_schema /do/4/ask/with/form/properties/amount/type: not a valid JSON Schema: ' +
        '"type" must be one of null, boolean, object, array, number, string, integer, did you ' +
        'mean "number"?',
    ],
  },
  {
    title: 'an unknown decision on expiry',
    change: (d) => (task(d, 'ask').with.on_expiry.decision = 'rejected'),
    expected: [
      'error unknown_decision /do/4/ask/with/on_expiry/decision: "rejected" is not one of the ' +
        'decisions, did you mean "reject"?',
    ],
  },
  {
    title: 'a required comment for an unknown decision',
    change: (d) => (task(d, 'ask').with.require_comment = ['no']),
    expected: ['error unknown_decision /do/4/ask/with/require_comment/0'],
  },
  {
    title: 'on_expiry without expires',
    change: (d) => delete task(d, 'ask').with.expires,
    expected: ['error never_expires /do/4/ask/with/on_expiry: "on_expiry" needs "expires"'],
  },
  {
    title: 'a reminder after the expiry',
    change: (d) => (task(d, 'ask').with.remind = ['P2D']),
    expected: ['warning after_expiry /do/4/ask/with/remind/0'],
  },
  {
    title: 'a form that requires what it has no field for',
    change: (d) =>
      (task(d, 'ask').with.form = { required: ['note', 'amount', 'who'], properties: { amount: {} } }),
    expected: ['warning no_field /do/4/ask/with/form/required: "note", "who": required, but not among'],
  },
  {
    title: 'a form of nothing but what it requires',
    change: (d) =>
      (task(d, 'ask').with.form = {
        type: ['object', 'null'],
        required: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      }),
    expected: ['warning no_field /do/4/ask/with/form/required: "a", "b", "c", "d", "e" and 2 more: required'],
  },
  {
    title: 'a form that is no object, and one that names what it requires',
    change: (d) => {
      task(d, 'ask').with.form = { type: 'string', required: ['note'] };
      d.use.functions.formed = {
        call: 'human',
        with: { title: 'Go?', form: { type: 'object', required: ['note'], properties: { note: true } } },
      };
    },
    expected: [],
  },
  {
    title: 'a quorum that nobody can reach',
    change: (d) =>
      Object.assign(task(d, 'ask').with, { candidates: { users: ['ann'] }, escalate: undefined }) &&
      delete task(d, 'ask').with.escalate,
    expected: ['error quorum_unreachable /do/4/ask/with/quorum/approvals: needs 2 people, and 1 can decide'],
  },
  {
    title: 'an invalid value of delegate',
    change: (d) => (task(d, 'ask').with.delegate = 'everyone'),
    expected: ['error not_allowed /do/4/ask/with/delegate: "delegate" must be one of candidates, anyone'],
  },
  {
    title: 'an unknown step in the context',
    change: (d) => (task(d, 'ask').with.context = ['fetsh', 'checks', 'nothing like it']),
    expected: [
      'error unknown_step /do/4/ask/with/context/0: there is no task "fetsh", did you mean "fetch"?',
      'error unknown_step /do/4/ask/with/context/1: there is no task "checks", did you mean "check"?',
      'error unknown_step /do/4/ask/with/context/2: there is no task "nothing like it"',
    ],
  },
  {
    title: 'steps of one name in the context',
    change: (d) => {
      for (const name of ['one', 'two']) d.use.functions[name] = { do: [{ same: { set: { x: 1 } } }] };
      task(d, 'ask').with.context = ['same'];
    },
    expected: [
      'error ambiguous_step /do/4/ask/with/context/0: 2 tasks are called "same": write the pointer ' +
        'of one of them, such as "/use/functions/one/do/0/same"',
    ],
  },
  {
    title: 'a human task in its own context',
    change: (d) => (task(d, 'ask').with.context = ['ask']),
    expected: ['error step_not_over /do/4/ask/with/context/0: "ask" is this task, so it has no output yet'],
  },
  {
    title: 'an expression instead of a step',
    change: (d) => (task(d, 'ask').with.context = ['${ .items }']),
    expected: [
      'error unknown_step /do/4/ask/with/context/0: a text here is the name of a task: to show a value ' +
        'write {"<name>": "${ .items }"}',
    ],
  },
  {
    title: 'a step twice, a value without a name, a secret, and too many values in the context',
    change: (d) =>
      (task(d, 'ask').with.context = [
        'fetch',
        'fetch',
        { '': 1, key: '${ $secrets.shopToken }' },
        Object.fromEntries(Array.from({ length: 49 }, (_, n) => [`v${n}`, n])),
      ]),
    expected: [
      'error duplicate_name /do/4/ask/with/context/1: "fetch" is listed twice',
      'error invalid_value /do/4/ask/with/context/2/: the name of a value has 1 to 255 characters',
      'error secret_exposed /do/4/ask/with/context/2/key',
      'error too_many /do/4/ask/with/context: may show at most 50 steps and values',
    ],
  },
  {
    title: 'a context that is no list',
    change: (d) => (task(d, 'ask').with.context = { check: true }),
    expected: ['error wrong_type /do/4/ask/with/context: "context" must be a list'],
  },
  {
    title: 'an unknown role to escalate to',
    change: (d) => (task(d, 'ask').with.escalate[0].to.roles = ['admins']),
    expected: [
      'error unknown_role /do/4/ask/with/escalate/0/to/roles/0: there is no role "admins", did ' +
        'you mean "admin"?',
    ],
  },
  {
    title: 'one unknown role',
    change: (d) => (task(d, 'ask').with.candidates.roles = 'admn'),
    expected: [
      'error unknown_role /do/4/ask/with/candidates/roles: there is no role "admn", did you mean "admin"?',
    ],
  },
  {
    title: 'a priority over 100',
    change: (d) => (task(d, 'ask').with.priority = 101),
    expected: ['error invalid_value /do/4/ask/with/priority'],
  },
  {
    title: 'a typo in escalate',
    change: (d) => rename(task(d, 'ask').with.escalate[0], 'after', 'afer'),
    expected: [
      'error unknown_property /do/4/ask/with/escalate/0/afer: item 1 of "escalate" has no ' +
        'property "afer", did you mean "after"?',
    ],
  },
  {
    title: 'an invalid due time',
    change: (d) => (task(d, 'ask').with.due = 'tomorrow'),
    expected: ['error invalid_value /do/4/ask/with/due: "due" is not a duration'],
  },

  // schemas
  {
    title: 'an external schema',
    change: (d) => (d.input.schema = { resource: { endpoint: 'https://example.com/s.json' } }),
    expected: [
      'warning resource_not_checked /input/schema/resource: "https://example.com/s.json" is fetched and ' +
        'checked when the definition is saved',
    ],
  },
  {
    title: 'an invalid input schema',
    change: (d) => (d.input.schema.document.required = 'order'),
    expected: [
      'error json_schema /input/schema/document/required: not a valid JSON Schema: "required" ' +
        'must be a list of texts',
    ],
  },
  {
    title: 'a keyword misspelt',
    change: (d) => rename(d.input.schema.document, 'required', 'requird'),
    expected: [
      'warning json_schema /input/schema/document/requird: "requird" is not a keyword of JSON ' +
        'Schema and has no effect, did you mean "required"?',
    ],
  },
  {
    title: 'a reference to nothing',
    change: (d) => (d.input.schema.document.properties.order = { $ref: '#/$defs/order' }),
    expected: [
      'error json_schema /input/schema/document/properties/order/$ref: not a valid JSON ' +
        'Schema: "#/$defs/order" leads to nothing',
    ],
  },
  {
    title: 'a schema of another format',
    change: (d) => (d.input.schema.format = 'avro'),
    expected: ['unsupported unsupported_schema_format /input/schema/format'],
  },
];
