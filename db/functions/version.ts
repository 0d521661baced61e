// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611221513;
export const functionsDigest = '3e48c1ce908ada9369b5edeaff6f51056eb72819681d697435e9da2e0c99e0ba';
