/** Cases of jq's tests that are out of scope, each with its reason. `program` is the whole first line of the case. */
export interface Exclusion {
  reason: string;
  file: string;
  programs: string[];
}

export const exclusions: Exclusion[] = [];
