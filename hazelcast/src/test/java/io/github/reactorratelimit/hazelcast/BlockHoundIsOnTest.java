package io.github.reactorratelimit.hazelcast;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Schedulers;
import reactor.test.StepVerifier;

/** Without it the contract would say nothing about blocking. */
class BlockHoundIsOnTest {

    @Test
    void blockingOnANonBlockingThreadFails() {
        StepVerifier.create(Mono.fromCallable(() -> new CountDownLatch(1).await(1, TimeUnit.MILLISECONDS))
                        .subscribeOn(Schedulers.parallel()))
                .expectErrorSatisfies(
                        error -> assertThat(error.getClass().getSimpleName()).isEqualTo("BlockingOperationError"))
                .verify();
    }
}
