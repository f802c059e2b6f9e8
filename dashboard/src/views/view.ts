/** The shape of a view of the page. */

import type { ComponentType } from 'preact';
import type { PageRoute, ViewId } from '../logic/route.ts';

/** What a view gets: the parameter and the query of its address. */
export type ViewProps = Pick<PageRoute, 'param' | 'query'>;

/** A view: a link of the navigation, and a component below the heading of the same words. */
export interface View {
  readonly id: ViewId;
  readonly title: string;
  readonly Component: ComponentType<ViewProps>;
}
