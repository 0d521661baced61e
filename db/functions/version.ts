// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231817;
export const functionsDigest = '55c141aae62aa61dbdfde93dff46043d1e96238ecd0c4d36936ca5ad00ec1574';
