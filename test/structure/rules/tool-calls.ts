import {
  isBindingElement,
  isCallExpression,
  isElementAccessExpression,
  isFunctionDeclaration,
  isIdentifier,
  isMethodDeclaration,
  isPropertyAssignment,
  isSourceFile,
  isPropertyAccessExpression,
  isStringLiteral,
  type Node,
} from 'typescript/unstable/ast';
import { eachNode, type ParsedFile, placeOf, type SourceTree } from '../source-tree.ts';

/** What a tool offers to be run, asked or looked at. */
const TOOL_DOORS = new Set(['execute', 'status', 'observe']);

/** The name node under which a door is reached: `tool.execute`, `tool['execute']`, `const { execute } = tool`. */
function doorName(node: Node): Node | undefined {
  if (isPropertyAccessExpression(node)) return TOOL_DOORS.has(node.name.text) ? node.name : undefined;
  if (isElementAccessExpression(node)) {
    const key = node.argumentExpression;
    return isStringLiteral(key) && TOOL_DOORS.has(key.text) ? key : undefined;
  }
  if (isBindingElement(node)) {
    const key = node.propertyName ?? node.name;
    return key !== undefined && isIdentifier(key) && TOOL_DOORS.has(key.text) ? key : undefined;
  }
  return undefined;
}

function declaredAmongTools(tree: SourceTree, name: Node, node: Node): boolean {
  const symbol = isBindingElement(node)
    ? tree.checker.getPropertyOfType(
        tree.checker.getTypeAtLocation(node.parent) ?? tree.checker.getAnyType(),
        name.getText(),
      )
    : tree.checker.getSymbolAtLocation(name);
  const home = `${tree.root}/src/tools/`.toLowerCase();
  return symbol?.declarations.some(({ path }) => path.toLowerCase().startsWith(home)) ?? false;
}

/** Whether the node stands in a function that is itself offered under the same name: a wrapper of that door. */
function wrapped(node: Node, door: string): boolean {
  for (let at = node.parent; at !== undefined && !isSourceFile(at); at = at.parent) {
    const named =
      isPropertyAssignment(at) || isMethodDeclaration(at) || isFunctionDeclaration(at) ? at.name : undefined;
    if (named?.getText() === door) return true;
  }
  return false;
}

function reached(tree: SourceTree, file: ParsedFile): string[] {
  const amongTools = file.path.startsWith('src/tools/');
  const found: string[] = [];
  eachNode(file, (node) => {
    const name = doorName(node);
    if (name === undefined) return;
    const called = isCallExpression(node.parent) && node.parent.expression === node;
    if (amongTools && (!called || wrapped(node, name.getText()))) return;
    if (declaredAmongTools(tree, name, node)) found.push(`${placeOf(file, node)} reaches a tool's ${name.getText()}`);
  });
  return found;
}

/**
 * Only calls/ may invoke a tool. Elsewhere in src/ even taking the function in hand is refused; tools/ may look at what
 * it defines and wrap it under the same name, but not call it.
 */
export function toolInvocations(tree: SourceTree): string[] {
  return tree.files
    .filter(({ path }) => path.startsWith('src/') && !path.startsWith('src/calls/'))
    .flatMap((file) => reached(tree, file));
}
