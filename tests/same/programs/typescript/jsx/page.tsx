/** @jsx h */
function h(tag: string, props: object | null, ...children: unknown[]) { return { tag, props, children }; }
export const page = (name: string) => <p class="x">hi {name}<br /></p>;
