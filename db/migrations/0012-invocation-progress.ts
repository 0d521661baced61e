import { Migration } from '@mikro-orm/migrations';

/** What a call that outlives its worker leaves for its repeat, such as the id of the task that it has begun elsewhere. */
export class Migration0012InvocationProgress extends Migration {
  override up(): void {
    this.addSql(`alter table invocation add column progress json;`);
  }
}
