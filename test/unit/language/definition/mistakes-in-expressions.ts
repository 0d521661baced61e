import { task, type Mistake } from './mistakes.ts';

export const mistakesInExpressions: Mistake[] = [
  {
    title: 'jq that does not compile',
    change: (d) => (task(d, 'fetch').if = '.items != '),
    expected: ['error expression /do/1/fetch/if: line 1, column'],
  },
  {
    title: 'jq that does not compile in a text',
    change: (d) => (task(d, 'prepare').set.note = 'for ${ .customer | }'),
    expected: ['error expression /do/0/prepare/set/note: line 1, column'],
  },
  {
    title: 'an unknown jq function',
    change: (d) => (task(d, 'fetch').if = '.items | lenght > 0'),
    expected: [
      'error expression /do/1/fetch/if: line 1, column 10: lenght/0 is not defined, did you mean "length"?',
    ],
  },
  {
    title: 'an undefined variable',
    change: (d) => (task(d, 'prepare').set.note = '${ $contxt.a }'),
    expected: [
      'error undefined_variable /do/0/prepare/set/note: $contxt is not defined, did you mean "$context"?',
    ],
  },
  {
    title: 'a loop variable outside its loop',
    change: (d) => (task(d, 'ask').with.title = '${ $item }'),
    expected: ['error undefined_variable /do/4/ask/with/title: $item is not defined'],
  },
  {
    title: 'the error outside its catch',
    change: (d) => (d.output.as = '$problem'),
    expected: ['error undefined_variable /output/as'],
  },
  {
    title: '$output in set',
    change: (d) => (task(d, 'prepare').set.note = '${ $output }'),
    expected: ['error variable_not_available /do/0/prepare/set/note: $output does not exist in a task'],
  },
  {
    title: '$input in if',
    change: (d) => (task(d, 'fetch').if = '$input.items'),
    expected: ['error variable_not_available /do/1/fetch/if: $input does not exist in if'],
  },
  {
    title: 'a secret in set',
    change: (d) => (task(d, 'prepare').set.note = '${ $secrets.shopToken }'),
    expected: ['error secret_exposed /do/0/prepare/set/note'],
  },
  {
    title: 'a secret in export',
    change: (d) => (task(d, 'prepare').export.as = '{a: $secrets.shopToken}'),
    expected: ['error secret_exposed /do/0/prepare/export/as'],
  },
  {
    title: 'the authorization in the output',
    change: (d) => (task(d, 'fetch').output.as = '$authorization'),
    expected: ['error secret_exposed /do/1/fetch/output/as'],
  },
  {
    title: 'the authorization in a header',
    change: (d) => (task(d, 'fetch').with.headers['x-key'] = '${ $authorization.parameter }'),
    expected: [],
  },
  {
    title: 'a secret in input.from of a call, which its activity evaluates',
    change: (d) => {
      Object.assign(task(d, 'fetch'), {
        input: { from: '. + {t: $secrets.shopToken}' },
        output: { as: '.' },
      });
      task(d, 'fetch').with.endpoint.uri = 'https://example.com/${ .id }';
    },
    expected: [],
  },
  {
    title: 'a secret in input.from that the output reads',
    change: (d) => {
      Object.assign(task(d, 'fetch'), {
        input: { from: '{t: $secrets.shopToken}' },
        output: { as: '$input' },
      });
      task(d, 'fetch').with.endpoint.uri = 'https://example.com';
    },
    expected: ['error secret_exposed /do/1/fetch/output/as: $input holds what input.from took from $secrets'],
  },
  {
    title: 'a secret in input.from of a task that keeps its input',
    change: (d) => Object.assign(task(d, 'prepare'), { input: { from: '{t: $secrets.shopToken}' } }),
    expected: ['error secret_exposed /do/0/prepare/input/from'],
  },
  {
    title: 'a secret in input.from and an address that takes a name from the input',
    change: (d) => {
      Object.assign(task(d, 'fetch'), { input: { from: '{id: $secrets.shopToken}' }, output: { as: '.' } });
      task(d, 'fetch').with.endpoint = 'https://example.com/{id}';
    },
    expected: ['error secret_exposed /do/1/fetch/with/endpoint: input.from reads $secrets'],
  },
  {
    title: 'a secret for a person',
    change: (d) => (task(d, 'ask').with.subject = '${ $secrets.shopToken }'),
    expected: ['error secret_exposed /do/4/ask/with/subject'],
  },
  {
    title: 'a secret in if',
    change: (d) => (task(d, 'fetch').if = '$secrets.shopToken'),
    expected: ['error secret_exposed /do/1/fetch/if'],
  },
  {
    title: 'an undeclared secret in a header',
    change: (d) => (task(d, 'fetch').with.headers['x-key'] = '${ $secrets.shopTokn }'),
    expected: [
      'error unknown_secret /do/1/fetch/with/headers/x-key: use.secrets has no "shopTokn", did ' +
        'you mean "shopToken"?',
    ],
  },
  {
    title: 'all secrets at once',
    change: (d) => (task(d, 'fetch').with.headers['x-key'] = '${ $secrets | tojson }'),
    expected: ['error secret_name /do/1/fetch/with/headers/x-key: name the secret'],
  },
  {
    title: 'a secret by a computed name',
    change: (d) => (task(d, 'fetch').with.headers['x-key'] = '${ $secrets[.name] }'),
    expected: ['error secret_name /do/1/fetch/with/headers/x-key'],
  },
  {
    title: 'a secret by a quoted name',
    change: (d) => (task(d, 'fetch').with.headers['x-key'] = '${ $secrets["shopToken"].key }'),
    expected: [],
  },
  {
    title: 'the second line of an expression',
    change: (d) => (d.output.as = '{\n  result: .,\n  items: $context.items |\n}'),
    expected: ['error expression /output/as: line 4, column 1'],
  },
  {
    title: 'a variable of the expression itself',
    change: (d) => (d.output.as = '. as $x | reduce .[] as $item (0; . + $item) | $x'),
    expected: [],
  },
];
