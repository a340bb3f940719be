package io.github.reactorratelimit.webflux.key;

import static io.github.reactorratelimit.webflux.key.ClientAddressTest.from;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Locale;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.web.server.ServerWebExchange;

class InternalCallersTest {

    private static final String SECRET = "0123456789abcdef";
    private static final String NEXT_SECRET = "fedcba9876543210";

    private static ServerWebExchange sending(String... secrets) {
        return MockServerWebExchange.from(MockServerHttpRequest.get("/").header("X-Internal", secrets));
    }

    @ParameterizedTest
    @CsvSource({
        "10.1.2.3, '', true",
        "203.0.113.7, '', false",
        "203.0.113.7, 10.1.2.3, false",
        "192.168.0.1, 10.1.2.3, true",
        "192.168.0.1, 203.0.113.7, false",
        "192.168.0.1, '10.1.2.3, 203.0.113.7', false"
    })
    void callerFromANetworkIsInternalByTheAddressOfTheClient(String peer, String forwarded, boolean internal) {
        ClientAddress address = ClientAddress.fromXForwardedFor(TrustedProxies.in("192.168.0.0/16"));
        Predicate<ServerWebExchange> callers = InternalCallers.from(address, "10.0.0.0/8", "fd00::/8");
        MockServerHttpRequest.BaseBuilder<?> request = from(peer);
        if (!forwarded.isEmpty()) {
            request.header("X-Forwarded-For", forwarded);
        }
        assertThat(callers.test(MockServerWebExchange.from(request))).isEqualTo(internal);
    }

    @Test
    void callerWithoutAddressIsNotInternal() {
        assertThat(InternalCallers.from(ClientAddress.ofPeer(), "0.0.0.0/0", "::/0")
                        .test(MockServerWebExchange.from(MockServerHttpRequest.get("/"))))
                .isFalse();
    }

    @Test
    void callerThatKnowsASecretIsInternal() {
        Predicate<ServerWebExchange> callers = InternalCallers.withSecret("X-Internal", SECRET, NEXT_SECRET);
        assertThat(callers.test(sending(SECRET))).isTrue();
        assertThat(callers.test(sending(NEXT_SECRET))).isTrue();
        assertThat(callers.test(sending(SECRET.toUpperCase(Locale.ROOT)))).isFalse();
        assertThat(callers.test(sending(SECRET + "0"))).isFalse();
        assertThat(callers.test(sending(SECRET.substring(1)))).isFalse();
        assertThat(callers.test(sending(""))).isFalse();
        assertThat(callers.test(MockServerWebExchange.from(MockServerHttpRequest.get("/"))))
                .isFalse();
    }

    @Test
    void manyGuessesInOneRequestAreNone() {
        assertThat(InternalCallers.withSecret("X-Internal", SECRET).test(sending("guess", SECRET)))
                .isFalse();
    }

    @Test
    void rulesCombine() {
        Predicate<ServerWebExchange> callers = InternalCallers.from(ClientAddress.ofPeer(), "10.0.0.0/8")
                .or(InternalCallers.withSecret("X-Internal", SECRET));
        assertThat(callers.test(MockServerWebExchange.from(from("10.0.0.1")))).isTrue();
        assertThat(callers.test(sending(SECRET))).isTrue();
        assertThat(callers.test(sending("x"))).isFalse();
    }

    @Test
    void weakSecretsAndMissingNetworksAreRefusedWithoutShowingTheSecret() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InternalCallers.withSecret("X-Internal", "short"))
                .withMessage("a secret must have at least 16 characters, one has 5");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InternalCallers.withSecret("X-Internal", SECRET + "é"))
                .withMessage("a secret must be printable ASCII without blanks");
        assertThatIllegalArgumentException().isThrownBy(() -> InternalCallers.withSecret("X-Internal"));
        assertThatIllegalArgumentException().isThrownBy(() -> InternalCallers.withSecret("Authorization", SECRET));
        assertThatIllegalArgumentException().isThrownBy(() -> InternalCallers.from(ClientAddress.ofPeer()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> InternalCallers.from(ClientAddress.ofPeer(), "10.0.0.1/8"))
                .withMessageContaining("10.0.0.0/8");
    }
}
