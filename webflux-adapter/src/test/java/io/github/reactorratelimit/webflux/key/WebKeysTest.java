package io.github.reactorratelimit.webflux.key;

import static io.github.reactorratelimit.webflux.key.ClientAddressTest.from;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.TokenBucket;
import java.net.URI;
import java.security.Principal;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatus;
import org.springframework.mock.http.server.reactive.MockServerHttpRequest;
import org.springframework.mock.web.server.MockServerWebExchange;
import org.springframework.mock.web.server.MockWebSession;
import org.springframework.web.reactive.HandlerMapping;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;
import reactor.test.StepVerifier;

class WebKeysTest {

    private static Optional<String> key(WebKey key, ServerWebExchange exchange) {
        return key.resolve(exchange).blockOptional();
    }

    private static Optional<String> key(WebKey key, MockServerHttpRequest.BaseBuilder<?> request) {
        return key(key, MockServerWebExchange.from(request));
    }

    private static MockServerHttpRequest.BaseBuilder<?> get(String uri) {
        return MockServerHttpRequest.method(HttpMethod.GET, URI.create(uri));
    }

    private static MockServerHttpRequest.BaseBuilder<?> header(String name, String... values) {
        return MockServerHttpRequest.get("/").header(name, values);
    }

    private static ServerWebExchange as(String user) {
        return MockServerWebExchange.from(MockServerHttpRequest.get("/"))
                .mutate()
                .principal(Mono.just((Principal) () -> user))
                .build();
    }

    private static void isRefused(WebKey key, MockServerHttpRequest.BaseBuilder<?> request) {
        StepVerifier.create(key.resolve(MockServerWebExchange.from(request)))
                .verifyErrorSatisfies(error -> assertThat(error)
                        .isInstanceOfSatisfying(
                                ResponseStatusException.class,
                                e -> assertThat(e.getStatusCode()).isEqualTo(HttpStatus.BAD_REQUEST)));
    }

    @Test
    void addressIsTheNetworkOfThePeer() {
        assertThat(key(WebKeys.clientAddress(), from("203.0.113.7"))).contains("ip:203.0.113.7");
        assertThat(key(WebKeys.clientAddress(), from("2001:db8:1:2::3"))).contains("ip:2001:db8:1:2::/64");
        assertThat(key(WebKeys.clientAddress(), MockServerHttpRequest.get("/"))).isEmpty();
    }

    @Test
    void principalIsItsName() {
        assertThat(key(WebKeys.principal(), as("alice")))
                .contains("user:alice")
                .contains(WebKeys.keyOfPrincipal("alice"));
        assertThat(key(WebKeys.principal(), as(" "))).isEmpty();
        assertThat(key(WebKeys.principal(), MockServerHttpRequest.get("/"))).isEmpty();
    }

    @Test
    void userWhoIsCalledLikeAnAddressDoesNotCountForIt() {
        WebKey userOrAddress = WebKeys.principal().orElse(WebKeys.clientAddress());
        assertThat(key(userOrAddress, as("ip:203.0.113.7"))).contains("user:ip:203.0.113.7");
        assertThat(key(userOrAddress, from("203.0.113.7"))).contains("ip:203.0.113.7");
    }

    @Test
    void sessionCountsOnlyIfTheClientCameWithIt() {
        MockWebSession session = new MockWebSession();
        ServerWebExchange cookie = MockServerWebExchange.builder(
                        MockServerHttpRequest.get("/").cookie(new HttpCookie("SID", session.getId())))
                .session(session)
                .build();
        ServerWebExchange sentInHeader = MockServerWebExchange.builder(header("X-Session", session.getId()))
                .session(session)
                .build();
        ServerWebExchange begunNow = MockServerWebExchange.builder(
                        MockServerHttpRequest.get("/").cookie(new HttpCookie("SID", "expired")))
                .session(session)
                .build();
        session.start();

        assertThat(key(WebKeys.session(), cookie)).isNotEmpty().isEqualTo(key(WebKeys.session(), sentInHeader));
        assertThat(key(WebKeys.session(), cookie).orElseThrow())
                .startsWith("session:")
                .doesNotContain(session.getId());
        assertThat(key(WebKeys.session(), begunNow)).isEmpty();
    }

    @Test
    void apiKeyIsHashedAndTheSameFromHeaderAndParameter() {
        Optional<String> fromHeader = key(WebKeys.apiKey("X-Api-Key"), header("x-api-key", "s3cr3t/+"));
        assertThat(fromHeader)
                .contains(WebKeys.keyOfApiKey("s3cr3t/+"))
                .isEqualTo(key(WebKeys.apiKeyParameter("key"), get("/?key=s3cr3t%2F%2b")));
        assertThat(fromHeader.orElseThrow()).matches("apikey:[-_0-9A-Za-z]{22}");
        assertThat(key(WebKeys.apiKey("X-Api-Key"), header("X-Api-Key", "S3CR3T/+")))
                .isNotEmpty()
                .isNotEqualTo(fromHeader);
    }

    @Test
    void blanksAroundAValueDoNotCount() {
        Optional<String> plain = key(WebKeys.apiKey("K"), header("K", "abc"));
        for (String spelled : List.of(" abc", "abc\t", "\u00a0abc", "abc\u0085", " \t abc \u0001")) {
            assertThat(key(WebKeys.apiKey("K"), header("K", spelled))).isEqualTo(plain);
        }
        assertThat(key(WebKeys.apiKey("K"), header("K", "a bc"))).isNotEqualTo(plain);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "\t", "\u00a0 "})
    void emptyValuesAreMissing(String empty) {
        assertThat(key(WebKeys.apiKey("K"), header("K", empty))).isEmpty();
        assertThat(key(WebKeys.header("K"), header("K", empty))).isEmpty();
        assertThat(key(WebKeys.cookie("K"), MockServerHttpRequest.get("/").cookie(new HttpCookie("K", empty))))
                .isEmpty();
    }

    @Test
    void missingValuesAreMissing() {
        for (WebKey key : List.of(
                WebKeys.apiKey("K"),
                WebKeys.apiKeyParameter("K"),
                WebKeys.header("K"),
                WebKeys.cookie("K"),
                WebKeys.bearerToken(),
                WebKeys.pathVariable("K"))) {
            assertThat(key(key, MockServerHttpRequest.get("/"))).isEmpty();
        }
        assertThat(key(WebKeys.apiKeyParameter("K"), get("/?K"))).isEmpty();
        assertThat(key(WebKeys.apiKeyParameter("K"), get("/?K="))).isEmpty();
    }

    @Test
    void severalValuesAreRefusedUnlessTheyAreTheSame() {
        isRefused(WebKeys.apiKey("K"), header("K", "a", "b"));
        isRefused(WebKeys.apiKey("K"), header("K", "a", ""));
        isRefused(WebKeys.header("K"), header("K", "a", "b"));
        isRefused(WebKeys.bearerToken(), header("Authorization", "Bearer a", "Bearer b"));
        isRefused(WebKeys.apiKeyParameter("K"), get("/?K=a&K=b"));
        assertThat(key(WebKeys.apiKey("K"), header("K", "a", " a")))
                .isEqualTo(key(WebKeys.apiKey("K"), header("K", "a")));
    }

    @Test
    void refusalDoesNotShowValues() {
        StepVerifier.create(WebKeys.apiKey("K").resolve(MockServerWebExchange.from(header("K", "s3cr3t", "x"))))
                .verifyErrorSatisfies(error -> assertThat(error).hasMessageNotContaining("s3cr3t"));
    }

    @Test
    void severalCookiesOfOneNameShareOneKey() {
        WebKey sid = WebKeys.cookie("SID");
        Optional<String> one = key(sid, header("Cookie", "").cookie(new HttpCookie("SID", "one")));
        Optional<String> both = key(
                sid, MockServerHttpRequest.get("/").cookie(new HttpCookie("SID", "one"), new HttpCookie("SID", "1")));
        Optional<String> others = key(
                sid, MockServerHttpRequest.get("/").cookie(new HttpCookie("SID", "2"), new HttpCookie("SID", "one")));
        assertThat(one.orElseThrow()).matches("cookie:SID:[-_0-9A-Za-z]{22}");
        assertThat(both).isEqualTo(others).contains("cookie:SID:several");
    }

    @ParameterizedTest
    @CsvSource({
        "Bearer abc, true",
        "bearer abc, true",
        "BEARER   abc, true",
        "Bearer abc=, true",
        "Bearer ABC, false",
        "Bearer  a bc, false"
    })
    void bearerTokenHasOneSpelling(String credentials, boolean same) {
        Optional<String> token = key(WebKeys.bearerToken(), header("Authorization", "Bearer abc"));
        assertThat(token.orElseThrow()).startsWith("bearer:");
        assertThat(key(WebKeys.bearerToken(), header("Authorization", credentials))
                        .equals(token))
                .isEqualTo(same);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Basic YTpi", "Bearer", "Bearer ", "Bearer =", "Bearerabc", "abc"})
    void otherCredentialsAreNoBearerToken(String credentials) {
        assertThat(key(WebKeys.bearerToken(), header("Authorization", credentials)))
                .isEmpty();
    }

    @Test
    void signatureOfAJwtIsNotPartOfItsKey() {
        Optional<String> jwt = key(WebKeys.bearerToken(), header("Authorization", "Bearer aa.bb.ccE"));
        assertThat(key(WebKeys.bearerToken(), header("Authorization", "Bearer aa.bb.ccF")))
                .isEqualTo(jwt);
        assertThat(key(WebKeys.bearerToken(), header("Authorization", "Bearer aa.bc.ccE")))
                .isNotEqualTo(jwt);
    }

    @Test
    void headerIsHashedWithItsNameInFront() {
        Optional<String> acme = key(WebKeys.header("X-Tenant"), header("X-Tenant", "acme"));
        assertThat(acme.orElseThrow()).matches("header:x-tenant:[-_0-9A-Za-z]{22}");
        assertThat(key(WebKeys.header("X-Tenant"), header("x-tenant", "Acme"))).isNotEqualTo(acme);
        assertThat(key(WebKeys.header("X-Tenant", s -> s.toLowerCase(Locale.ROOT)), header("x-tenant", "ACME")))
                .isEqualTo(acme);
    }

    @Test
    void clearHeaderShowsWhatAPolicyIsFoundBy() {
        WebKey tenant = WebKeys.clearHeader("X-Tenant", s -> s.toLowerCase(Locale.ROOT));
        assertThat(key(tenant, header("X-Tenant", "Acme"))).contains("header:x-tenant:acme");
        String hashOfLong = key(tenant, header("X-Tenant", "a".repeat(65))).orElseThrow();
        assertThat(hashOfLong).matches("header:x-tenant:#[-_0-9A-Za-z]{22}");
        String forged = hashOfLong.substring("header:x-tenant:".length());
        assertThat(key(WebKeys.clearHeader("X-Tenant", UnaryOperator.identity()), header("X-Tenant", forged)))
                .isNotEqualTo(Optional.of(hashOfLong));
        assertThat(key(WebKeys.clearHeader("X-Tenant", s -> ""), header("X-Tenant", "acme")))
                .isEmpty();
    }

    @Test
    void errorOfACanonicalFormIsSignalled() {
        WebKey broken = WebKeys.header("K", s -> {
            throw new IllegalStateException("broken");
        });
        StepVerifier.create(broken.resolve(MockServerWebExchange.from(header("K", "a"))))
                .verifyErrorMessage("broken");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "X-Forwarded-For",
                "forwarded",
                "X-Real-IP",
                "CF-Connecting-IP",
                "True-Client-IP",
                "Authorization",
                "Proxy-Authorization",
                "cookie"
            })
    void headersByWhichAClientWouldChooseItsKeyAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebKeys.header(name))
                .withMessageStartingWith("header '" + name + "' is no key: ");
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.apiKey(name));
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.clearHeader(name, UnaryOperator.identity()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "a b", "a:", "ä", "a\r\n"})
    void namesThatNoHeaderHasAreRefused(String name) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebKeys.header(name))
                .withMessage("'" + name + "' is not the name of a header");
    }

    @Test
    void hugeValuesBecomeKeysThatALimiterTakes() {
        String huge = "x".repeat(1_000_000);
        RateLimiter limiter = RateLimiter.of(TokenBucket.of(1, Duration.ofDays(1)));
        for (WebKey key : List.of(
                WebKeys.header("K"),
                WebKeys.clearHeader("K", UnaryOperator.identity()),
                WebKeys.apiKey("K"),
                WebKeys.composite(WebKeys.constant(huge), WebKeys.apiKey("K")))) {
            String resolved = key(key, header("K", huge)).orElseThrow();
            assertThat(resolved.length()).isLessThan(100);
            assertThat(limiter.tryAcquire(resolved).block().allowed()).isTrue();
        }
        assertThat(key(WebKeys.principal(), as(huge)).orElseThrow()).hasSizeLessThan(100);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/users/alice",
                "/users/al%69ce",
                "/users/alice;v=1",
                "/users/%61%6C%69%63%65;a=b;c",
                "/users/alice%20"
            })
    void pathVariableIsDecodedAndWithoutMatrixParameters(String path) {
        assertThat(key(WebKeys.pathVariable("/users/{id}", "id"), get(path))).contains("path:alice");
    }

    @Test
    void pathVariableOfAnotherPathIsMissing() {
        WebKey id = WebKeys.pathVariable("/users/{id}/**", "id");
        assertThat(key(id, get("/orders/1"))).isEmpty();
        assertThat(key(id, get("/users/alice/orders/1"))).contains("path:alice");
        assertThat(key(
                        WebKeys.pathVariable(PathPatternParser.defaultInstance.parse("/x/{*rest}"), "rest"),
                        get("/x/a/b")))
                .contains("path:/a/b");
        assertThat(key(WebKeys.pathVariable("/u/{id:[0-9]+}", "id"), get("/u/42")))
                .contains("path:42");
    }

    @Test
    void firstSlashOfAPatternMayBeLeftOutAsInAMapping() {
        assertThat(key(WebKeys.pathVariable("users/{id}", "id"), get("/users/alice")))
                .contains("path:alice");
    }

    @Test
    void patternWithoutTheVariableIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebKeys.pathVariable("/users/{identity}", "id"))
                .withMessage("pattern '/users/{identity}' has no variable 'id'");
    }

    static Stream<String> attributesOfHandlers() {
        return Stream.of(
                HandlerMapping.URI_TEMPLATE_VARIABLES_ATTRIBUTE, RouterFunctions.URI_TEMPLATE_VARIABLES_ATTRIBUTE);
    }

    @ParameterizedTest
    @MethodSource("attributesOfHandlers")
    void pathVariableOfTheHandlerIsRead(String attribute) {
        ServerWebExchange exchange = MockServerWebExchange.from(MockServerHttpRequest.get("/users/alice"));
        exchange.getAttributes().put(attribute, Map.of("id", "alice"));
        assertThat(key(WebKeys.pathVariable("id"), exchange)).contains("path:alice");
        assertThat(key(WebKeys.pathVariable("other"), exchange)).isEmpty();
    }

    @Test
    void partsOfACompositeCannotReachIntoEachOther() {
        Optional<String> one = key(WebKeys.composite(WebKeys.constant("a:b"), WebKeys.constant("c")), get("/"));
        Optional<String> other = key(WebKeys.composite(WebKeys.constant("a"), WebKeys.constant("b:c")), get("/"));
        assertThat(one).contains("all:3:a:b1:c");
        assertThat(other).contains("all:1:a3:b:c");
        assertThat(key(WebKeys.composite(WebKeys.constant("1:a")), get("/")))
                .isNotEqualTo(key(WebKeys.composite(WebKeys.constant("1"), WebKeys.constant("a")), get("/")));
    }

    @Test
    void compositeLacksAKeyIfOneOfItsPartsDoes() {
        WebKey both = WebKeys.composite(WebKeys.constant("a"), WebKeys.apiKey("K"));
        assertThat(key(both, get("/"))).isEmpty();
        assertThat(key(both, header("K", "v"))).isNotEmpty();
        assertThatIllegalArgumentException().isThrownBy(WebKeys::composite);
        isRefused(both, header("K", "v", "w"));
    }

    @Test
    void otherKeyIsAskedOnlyWhereTheFirstIsMissing() {
        WebKey never = exchange -> {
            throw new AssertionError("asked");
        };
        assertThat(key(WebKeys.constant("a").orElse(never), get("/"))).contains("a");
        assertThat(key(
                        WebKeys.apiKey("K").orElse(WebKeys.apiKeyParameter("K")).orElse(WebKeys.constant("c")),
                        get("/")))
                .contains("c");
        isRefused(WebKeys.apiKey("K").orElse(never), header("K", "v", "w"));
    }

    @Test
    void emptyConstantsAndNamesAreRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> WebKeys.constant(""))
                .withMessage("key must not be empty");
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.cookie(""));
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.apiKeyParameter(""));
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.keyOfApiKey(""));
        assertThatIllegalArgumentException().isThrownBy(() -> WebKeys.keyOfPrincipal(""));
    }
}
