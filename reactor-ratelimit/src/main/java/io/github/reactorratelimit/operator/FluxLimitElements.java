package io.github.reactorratelimit.operator;

import io.github.reactorratelimit.RateLimiter;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.FluxOperator;

/**
 * Each element costs permits. Elements leave in the order they came, unless those of other keys may overtake.
 */
final class FluxLimitElements<T> extends FluxOperator<T, T> {

    private final SubscriptionTerms.Source<T> termsOf;
    private final Denial<T> denial;
    private final OptionalInt maxHeld;

    FluxLimitElements(Flux<T> source, RateLimiter limiter, LimitSpec<T> spec) {
        super(source);
        this.termsOf = new SubscriptionTerms.Source<>(limiter, spec);
        this.denial = spec.denial.of(limiter);
        this.maxHeld = spec.maxHeld;
    }

    @Override
    public void subscribe(CoreSubscriber<? super T> actual) {
        SubscriptionTerms<T> terms = termsOf.orFail(actual);
        if (terms != null) {
            source.subscribe(
                    maxHeld.isPresent()
                            ? new UnorderedSubscriber<>(actual, terms, denial, maxHeld.getAsInt())
                            : new OrderedSubscriber<>(actual, terms, denial));
        }
    }

    @Override
    @SuppressWarnings("rawtypes")
    public @Nullable Object scanUnsafe(Attr key) {
        return key == Attr.RUN_STYLE ? Attr.RunStyle.ASYNC : super.scanUnsafe(key);
    }
}
