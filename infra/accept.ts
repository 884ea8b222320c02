import { Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/**
 * Says why a finding of cdk-nag is meant to be, where the resource is made. The reason is kept on the
 * construct, where the tool reads it; without the tool nothing changes.
 * @param reasons by the finding's id, such as `AwsSolutions-SQS3`
 */
export function accept(of: IConstruct, reasons: Readonly<Record<string, string>>): void {
  const rules = Object.entries(reasons).map(([id, reason]) => ({ id, reason }));
  Validations.of(of).acknowledge(...rules);
}

/** The id of the finding that a policy grants something on more than one named resource. */
export function wildcard(scope: IConstruct, resource: string): string {
  return `AwsSolutions-IAM5[Resource::${flat(Stack.of(scope).resolve(resource))}]`;
}

/** References as cdk-nag writes them: `<Id>` and `<Id.Attribute>`. */
function flat(value: unknown): string {
  if (typeof value === 'string') return value;
  const intrinsic = value as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly string[];
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
  };
  if (intrinsic.Ref !== undefined) return `<${intrinsic.Ref}>`;
  if (intrinsic['Fn::GetAtt'] !== undefined) return `<${intrinsic['Fn::GetAtt'].join('.')}>`;
  const [delimiter, parts] = intrinsic['Fn::Join'] ?? ['', []];
  return parts.map(flat).join(delimiter);
}
