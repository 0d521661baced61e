// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231116;
export const functionsDigest = '0fc630e460bd734965385f655904064264411f603bc6fd43a66f897b76b6f39e';
