/** Where the names of the migrations that ran are kept. */
export const migrationTable = 'schema_migration';
