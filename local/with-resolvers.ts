/**
 * Gives Node 20 the `Promise.withResolvers` of later versions, which the in-process interpreter of
 * the states language needs. Import it for its effect, before that interpreter runs.
 */
interface Resolvers<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T | PromiseLike<T>) => void;
  readonly reject: (reason?: unknown) => void;
}

if (!('withResolvers' in Promise)) {
  Object.defineProperty(Promise, 'withResolvers', {
    configurable: true,
    writable: true,
    value: function withResolvers<T>(this: PromiseConstructor): Resolvers<T> {
      let resolve: Resolvers<T>['resolve'] | undefined;
      let reject: Resolvers<T>['reject'] | undefined;
      const promise = new this<T>((accept, refuse) => {
        resolve = accept;
        reject = refuse;
      });
      if (resolve === undefined || reject === undefined) {
        throw new TypeError(
          'the promise constructor did not call its executor; use Promise itself',
        );
      }
      return { promise, resolve, reject };
    },
  });
}

export {};
