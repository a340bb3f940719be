package io.github.reactorratelimit.webflux.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.key.WebKey;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;

class LimitKeysTest {

    @ParameterizedTest
    @ValueSource(strings = {"path:/users/{id}#id", "path:users/{id}#id"})
    void aPatternNeedsNoFirstSlashAsInAMapping(String written) {
        WebKey key = BoundProperties.limits(BoundProperties.of(
                        "reactor-ratelimit.limits: {some: {limit: 1 per day, key: '" + written + "'}}"))
                .rules()
                .get(0)
                .key();
        MockServerWebExchange request = MockServerWebExchange.from(MockServerHttpRequest.get("/users/7"));
        assertThat(key.resolve(request).blockOptional()).isPresent();
    }
}
