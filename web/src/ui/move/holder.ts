/** Members of the request that moves a record: to a team, to the user, or to the person that is named. */
export interface NewHolder {
  team_id: string | null;
  owner_id?: string;
}

export type MovedKind = 'agent' | 'workflow' | 'file' | 'webhook' | 'hook' | 'source';
