package io.github.reactorratelimit.examples.playground.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DefaultDataBufferFactory;
import org.springframework.web.ErrorResponseException;
import reactor.core.publisher.Flux;

class UploadedLogTest {

    private static final byte[] MEGABYTE = new byte[1_000_000];

    @Test
    void whoSendsForEverIsNotReadForEver() {
        AtomicInteger sent = new AtomicInteger();
        Flux<DataBuffer> body = Flux.range(0, 1_000).map(n -> {
            sent.incrementAndGet();
            return DefaultDataBufferFactory.sharedInstance.wrap(MEGABYTE);
        });

        UploadedLog log = UploadedLog.read(body).block();

        assertThat(sent).hasValue(65);
        assertThatThrownBy(log::text).isInstanceOf(ErrorResponseException.class);
    }
}
