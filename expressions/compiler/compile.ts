/** Syntax tree to closures. */
import { runtime } from '../runtime.ts';
import type { Node } from '../ast.ts';
import { applyFormat } from '../builtins/formats.ts';
import { negate } from '../values/arith.ts';
import { compileIndex, compileIterate, compileSlice } from './access.ts';
import { compileBind, compileBreak, compileForeach, compileLabel, compileReduce, compileVariable } from './bindings.ts';
import { compileCall, compileDefinition } from './calls.ts';
import { single, type Code } from './code.ts';
import { compileArray, compileObject, compileString } from './construct.ts';
import type { Context } from './context.ts';
import * as filter from './filters.ts';
import { Scope } from './scope.ts';
import { compileUpdate } from './updates.ts';

const { rt } = runtime;

/** Compiles a program. `variables`: the names that `env.variables` may give, null for any. */
export function compileProgram(node: Node, source: string, variables: ReadonlySet<string> | null): Code {
  const context: Context = { source, variables, compile: (child, scope) => compileNode(child, scope, context) };
  return compileNode(node, new Scope(null, null), context);
}

function compileNode(node: Node, scope: Scope, context: Context): Code {
  const sub = (child: Node): Code => compileNode(child, scope, context);
  switch (node.t) {
    case 'identity':
      return single((_, input) => input, 1, () => (_, path, input, out) => out(path, input));
    case 'literal': {
      const { value } = node;
      return single(() => value, 1);
    }
    case 'string':
      return compileString(node.format, node.parts.map((part) => (typeof part === 'string' ? part : sub(part))), node.at);
    case 'format': {
      const { name, at } = node;
      return single((_, input) => {
        rt.at = at;
        return applyFormat(name, input);
      }, 2);
    }
    case 'index':
      return compileIndex(sub(node.of), node.key.t === 'literal' ? node.key.value : undefined, sub(node.key), node.optional, node.at);
    case 'slice':
      return compileSlice(sub(node.of), node.from && sub(node.from), node.to && sub(node.to), node.optional, node.at);
    case 'iterate':
      return compileIterate(sub(node.of), node.optional, node.at);
    case 'try':
      return filter.compileTry(sub(node.body), node.handler && sub(node.handler));
    case 'negate':
      return filter.map1(sub(node.of), negate, node.at);
    case 'pipe':
      return filter.compilePipe(sub(node.left), sub(node.right));
    case 'comma':
      return filter.compileComma(sub(node.left), sub(node.right));
    case 'binary':
      return filter.map2(sub(node.left), sub(node.right), filter.operation(node.op), node.at);
    case 'and':
    case 'or':
      return filter.compileLogic(node.t === 'or', sub(node.left), sub(node.right));
    case 'alternative':
      return filter.compileAlternative(sub(node.left), sub(node.right));
    case 'update':
      return compileUpdate(node, scope, context);
    case 'if':
      return filter.compileIf(sub(node.condition), sub(node.consequent), node.otherwise && sub(node.otherwise));
    case 'reduce':
      return compileReduce(node, scope, context);
    case 'foreach':
      return compileForeach(node, scope, context);
    case 'def':
      return compileDefinition(node.fn, node.body, scope, context);
    case 'bind':
      return compileBind(node, scope, context);
    case 'label':
      return compileLabel(node, scope, context);
    case 'break':
      return compileBreak(node, scope, context);
    case 'call':
      return compileCall(node, scope, context);
    case 'variable':
      return compileVariable(node, scope, context);
    case 'array':
      return compileArray(node.body && sub(node.body));
    case 'object':
      return compileObject(node.entries.map(({ key, value }) => ({ key: sub(key), name: key.t === 'literal' && typeof key.value === 'string' ? key.value : null, value: sub(value) })), node.at);
  }
}

