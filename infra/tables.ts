import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type PointInTimeRecoverySpecification,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import { AnyPrincipal, Effect, PolicyDocument, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { REWRITES } from './grants.ts';

export interface SagaTablesProps {
  /**
   * Default `PAY_PER_REQUEST`. With `PROVISIONED` each table begins with CDK's 5 units and MUST be scaled:
   * `plane.tables.ledger.autoScaleWriteCapacity(…)`, and so on for each.
   */
  readonly billingMode?: BillingMode;
  /** Default `RETAIN`: a ledger outlives the stack that wrote it. */
  readonly removalPolicy?: RemovalPolicy;
  /** Default: on, unless `removalPolicy` is `DESTROY`. */
  readonly deletionProtection?: boolean;
  /** Default `AWS_MANAGED`. */
  readonly encryption?: TableEncryption;
  /** With `CUSTOMER_MANAGED`: the key. Functions of the plane are granted its use. */
  readonly encryptionKey?: IKey;
  /** Default: on. */
  readonly pointInTimeRecoverySpecification?: PointInTimeRecoverySpecification;
}

/** The three tables of a plane, with the keys that `lambdas/stores/dynamodb` expects. */
export class SagaTables extends Construct {
  /** Append-only. Its stream feeds what is derived from the ledgers. */
  readonly ledger: Table;
  readonly payloads: Table;
  readonly coordination: Table;

  constructor(scope: Construct, id: string, props: SagaTablesProps = {}) {
    super(scope, id);
    const removalPolicy = props.removalPolicy ?? RemovalPolicy.RETAIN;
    const common = {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      billingMode: props.billingMode ?? BillingMode.PAY_PER_REQUEST,
      removalPolicy,
      deletionProtection: props.deletionProtection ?? removalPolicy !== RemovalPolicy.DESTROY,
      encryption: props.encryption ?? TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: props.pointInTimeRecoverySpecification ?? {
        pointInTimeRecoveryEnabled: true,
      },
      ...(props.encryptionKey === undefined ? {} : { encryptionKey: props.encryptionKey }),
    };
    const text = { name: 'sk', type: AttributeType.STRING };
    this.ledger = new Table(this, 'Ledger', {
      ...common,
      sortKey: { name: 'sk', type: AttributeType.NUMBER },
      // The old image comes only with what may never be: a record that was changed or removed.
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      resourcePolicy: appendOnly(),
    });
    this.payloads = new Table(this, 'Payloads', { ...common, sortKey: text });
    this.coordination = new Table(this, 'Coordination', { ...common, sortKey: text });
  }
}

/** Nobody rewrites the ledger, whatever a role elsewhere is granted: administrators included. */
function appendOnly(): PolicyDocument {
  return new PolicyDocument({
    statements: [
      new PolicyStatement({
        sid: 'AppendOnly',
        effect: Effect.DENY,
        principals: [new AnyPrincipal()],
        actions: [...REWRITES],
        // A table's policy is part of the table, so it cannot name the table's ARN.
        resources: ['*'],
      }),
    ],
  });
}
