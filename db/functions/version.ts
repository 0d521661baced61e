// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611301822;
export const functionsDigest = 'cd2208a5391f6fc99c7160c6ec0dcfce9ddeb3299287c5f916331dd1a2eaa814';
