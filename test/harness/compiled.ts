/**
 * For the environments that tests make up: the folder in which Node keeps the code that it compiled in this run of the
 * tests. Most of the life of a short process is its start. Empty where a file of tests runs alone.
 */

const { NODE_COMPILE_CACHE } = process.env;

export const compiled: Readonly<Record<string, string>> = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};
