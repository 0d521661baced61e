/** Where the cursor stands in a definition. */
export interface Cursor {
  /** Of the value; at a name, of the object that the name belongs to. */
  path: readonly string[];
  /** Plain entries before the cursor of each object and list around it, outermost first. */
  around: readonly ReadonlyMap<string, string>[];
  /** `either`: a new entry of a list, which may be a value or begin an object. */
  at: 'name' | 'value' | 'either';
  /** What is typed of it, without quotation marks. */
  typed: string;
  /** What a completion replaces. */
  from: number;
  to: number;
}
