/**
 * Cases of jq's tests that are out of scope, each with its reason. `programs` are the complete first lines of
 * the cases.
 */
export interface Exclusion {
  reason: string;
  file: string;
  programs: string[];
}

export const exclusions: Exclusion[] = [
  {
    reason:
      'Modules: an expression has none, so `import`, `include` and `modulemeta` are refused at compile time.',
    file: 'jq.test',
    programs: [
      'import "a" as foo; import "b" as bar; def fooa: foo::a; [fooa, bar::a, bar::b, foo::a]',
      'import "c" as foo; [foo::a, foo::c]',
      'include "c"; [a, c]',
      'import "data" as $e; import "data" as $d; [$d[].this,$e[].that,$d::d[].this,$e::e[].that]|join(";")',
      'import "data" as $a; import "data" as $b; def f: {$a, $b}; f',
      'include "shadow1"; e',
      'include "shadow1"; include "shadow2"; e',
      'import "shadow1" as f; import "shadow2" as f; import "shadow1" as e; [e::e, f::e]',
      'modulemeta',
      'modulemeta | .deps | length',
      'modulemeta | .defs | length',
      'import "test_bind_order" as check; check::check',
    ],
  },
  {
    reason:
      'Input and output: an expression has one input and writes nothing, so `input` and ' +
      '`debug` are refused at compile time.',
    file: 'jq.test',
    programs: ['try input catch .', 'debug'],
  },
  {
    reason:
      'Environment: the same expression must give the same value everywhere, so `env` and ' +
      '`$ENV` are refused at compile time.',
    file: 'man.test',
    programs: ['$ENV.PAGER', 'env.PAGER'],
  },
  {
    reason:
      'Data nested deeper than 9,999: beyond the depth budget, which ends the evaluation with a limit error.',
    file: 'jq.test',
    programs: [
      'reduce range(9999) as $_ ([];[.]) | tojson | fromjson | flatten',
      'reduce range(10000) as $_ ([];[.]) | tojson | try (fromjson) catch . | ' +
        '(contains("<skipped: too deep>") | not) and contains("Exceeds depth limit for parsing")',
      'reduce range(10001) as $_ ([];[.]) | tojson | contains("<skipped: too deep>")',
      'setpath([range(10000) | 0]; 0) | flatten',
      'reduce range(10000) as $_ ({}; {a: .}) as $x | $x * $x | length',
    ],
  },
];
