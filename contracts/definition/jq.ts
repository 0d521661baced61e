/** The bridge to `expressions/`: what validation wants to know of an expression. */

export interface Analysis {
  problems: { message: string; line: number; column: number; suggestion?: string }[];
  /** Variables that are read and not bound in the expression, without `$`. */
  variables: string[];
  /** Names read as `$secrets.<name>`. */
  secrets: string[];
}

/** Bare jq. */
export function analyzeExpression(source: string): Analysis {
  void source;
  return { problems: [], variables: [], secrets: [] };
}

/** Text with `${ … }`, whole or embedded. */
export function analyzeText(text: string): Analysis {
  void text;
  return { problems: [], variables: [], secrets: [] };
}
