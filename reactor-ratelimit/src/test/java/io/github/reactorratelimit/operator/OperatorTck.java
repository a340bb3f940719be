package io.github.reactorratelimit.operator;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Drops;
import org.reactivestreams.Publisher;
import org.reactivestreams.tck.PublisherVerification;
import org.reactivestreams.tck.TestEnvironment;
import org.testng.annotations.AfterMethod;
import org.testng.annotations.BeforeMethod;
import reactor.core.publisher.Flux;

/** The Reactive Streams TCK for an operator in one of its modes; each publisher has a limiter of its own. */
abstract class OperatorTck extends PublisherVerification<Long> {

    private static final long TIMEOUT_MILLIS = 600;
    private static final long SILENCE_MILLIS = 40;

    OperatorTck() {
        super(environment());
    }

    static TestEnvironment environment() {
        return new TestEnvironment(TIMEOUT_MILLIS, SILENCE_MILLIS);
    }

    /** The operator in the mode under test. */
    abstract Publisher<Long> limit(Flux<Long> source);

    /** Elements the source has to give so that this many pass. */
    long sourceElements(long passing) {
        return passing;
    }

    @Override
    public Publisher<Long> createPublisher(long elements) {
        Flux<Long> endless = Flux.generate(() -> 0L, (next, sink) -> {
            sink.next(next);
            return next + 1;
        });
        return limit(endless.take(sourceElements(elements)));
    }

    @Override
    public Publisher<Long> createFailedPublisher() {
        return limit(Flux.error(new IllegalStateException("failed on purpose")));
    }

    @BeforeMethod
    public void listenForDrops() {
        Drops.listen();
    }

    @AfterMethod
    public void nothingWasDropped() {
        assertThat(Drops.take()).isEmpty();
    }
}
