/** Where agents can be imported from. */
export const SOURCE_KINDS = ['a2a', 'openapi', 'mcp', 'langgraph'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];
