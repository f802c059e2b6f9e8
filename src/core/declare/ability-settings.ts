/** The settings of the abilities of chains. */

/** The built-in abilities that chain steps may use. */
export interface AbilitySettings {
  /** Whether steps may use `http.get` and `http.post`. @default false */
  readonly http: boolean;
  /**
   * Hosts that steps may reach; an empty list allows every public host. `*` = any characters; `http://` before a name
   * allows plain HTTP.
   * @default []
   */
  readonly httpHosts: readonly string[];
  /** Whether steps may use `shell.execute`. @default false */
  readonly shell: boolean;
}
