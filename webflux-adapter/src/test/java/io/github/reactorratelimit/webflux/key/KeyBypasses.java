package io.github.reactorratelimit.webflux.key;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.webflux.key.LimitedServer.Answer;
import io.github.reactorratelimit.webflux.testing.Bypass;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.IntFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.springframework.web.server.WebSession;
import org.springframework.web.server.adapter.ForwardedHeaderTransformer;
import org.springframework.web.server.adapter.WebHttpHandlerBuilder;
import reactor.netty.http.server.HttpServer;

/**
 * What clients try in order to be somebody else with each request, against a real server. Each attempt is twelve requests that
 * one client could send; as many may pass as one client may send.
 */
public final class KeyBypasses {

    private static final int REQUESTS = 12;
    private static final int LIMIT = LimitedServer.LIMIT;

    private static final WebKey PEER = WebKeys.clientAddress();

    /** The test is the proxy: it writes the client's address at the right end. */
    private static final WebKey BEHIND_PROXY =
            WebKeys.clientAddress(ClientAddress.fromXForwardedFor(TrustedProxies.in("127.0.0.0/8")));

    private static final WebKey BEHIND_STANDARD_PROXY =
            WebKeys.clientAddress(ClientAddress.fromForwarded(TrustedProxies.in("127.0.0.0/8")));

    private static final WebKey PROXY_ELSEWHERE =
            WebKeys.clientAddress(ClientAddress.fromXForwardedFor(TrustedProxies.in("10.0.0.0/8")));

    private static final WebKey STANDARD_PROXY_ELSEWHERE =
            WebKeys.clientAddress(ClientAddress.fromForwarded(TrustedProxies.in("10.0.0.0/8")));

    private static final WebKey API_KEY = WebKeys.apiKey("X-Api-Key");

    private static final WebKey API_KEY_ANYWHERE = API_KEY.orElse(WebKeys.apiKeyParameter("key"));

    private KeyBypasses() {}

    /** An attempt: {@code head} makes the n-th request, {@code passes} is how many of them are allowed. */
    private record Attempt(
            String name,
            WebKey key,
            int passes,
            IntFunction<String> head,
            UnaryOperator<HttpServer> netty,
            UnaryOperator<WebHttpHandlerBuilder> spring) {

        Attempt(String name, WebKey key, IntFunction<String> head) {
            this(name, key, LIMIT, head, UnaryOperator.identity(), UnaryOperator.identity());
        }

        Attempt passing(int passes) {
            return new Attempt(name, key, passes, head, netty, spring);
        }

        Attempt on(UnaryOperator<HttpServer> netty) {
            return new Attempt(name, key, passes, head, netty, spring);
        }

        Attempt in(UnaryOperator<WebHttpHandlerBuilder> spring) {
            return new Attempt(name, key, passes, head, netty, spring);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static Attempt attempt(String name, WebKey key, IntFunction<String> headers) {
        return new Attempt(name, key, n -> "GET / HTTP/1.1\r\n" + headers.apply(n));
    }

    private static Attempt path(String name, WebKey key, IntFunction<String> path) {
        return new Attempt(name, key, n -> "GET " + path.apply(n) + " HTTP/1.1\r\nAccept: */*");
    }

    private static Attempt path(String name, WebKey key, String... paths) {
        return path(name, key, n -> paths[n % paths.length]);
    }

    private static IntFunction<String> oneOf(String... headers) {
        return n -> headers[n % headers.length];
    }

    private static String forwardedFor(String value) {
        return "X-Forwarded-For: " + value;
    }

    private static IntFunction<String> xForwardedForOneOf(String... values) {
        return n -> forwardedFor(values[n % values.length]);
    }

    private static Stream<Attempt> forgedAddresses() {
        return Stream.of(
                attempt("X-Forwarded-For to a server that reads none", PEER, n -> forwardedFor("1.1.1." + n)),
                attempt("Forwarded to a server that reads none", PEER, n -> "Forwarded: for=1.1.1." + n),
                attempt("X-Real-IP", PEER, n -> "X-Real-IP: 1.1.1." + n),
                attempt(
                        "CF-Connecting-IP and friends",
                        PEER,
                        n -> "CF-Connecting-IP: 1.1.1." + n + "\r\nTrue-Client-IP: 1.1.1." + n
                                + "\r\nX-Client-IP: 1.1.1." + n),
                attempt("X-Forwarded-For past the proxy", PROXY_ELSEWHERE, n -> forwardedFor("1.1.1." + n)),
                attempt(
                        "a proxy's address in X-Forwarded-For",
                        PROXY_ELSEWHERE,
                        n -> forwardedFor("1.1.1." + n + ", 10.0.0.1")),
                attempt("Forwarded past the proxy", STANDARD_PROXY_ELSEWHERE, n -> "Forwarded: for=1.1.1." + n),
                attempt("X-Forwarded-For and native forwarding", PEER, n -> forwardedFor("1.1.1." + n))
                        .on(netty -> netty.forwarded(true)),
                attempt("Forwarded and native forwarding", PEER, n -> "Forwarded: for=1.1.1." + n)
                        .on(netty -> netty.forwarded(true)),
                attempt(
                                "X-Forwarded-For past the proxy and native forwarding",
                                PROXY_ELSEWHERE,
                                n -> forwardedFor("10.0.0." + n))
                        .on(netty -> netty.forwarded(true)),
                attempt("X-Forwarded-For and the framework's forwarding", PEER, n -> forwardedFor("1.1.1." + n))
                        .in(spring -> spring.forwardedHeaderTransformer(new ForwardedHeaderTransformer())),
                attempt("Forwarded and the framework's forwarding", BEHIND_PROXY, n -> "Forwarded: for=1.1.1." + n)
                        .in(spring -> spring.forwardedHeaderTransformer(new ForwardedHeaderTransformer())));
    }

    private static Stream<Attempt> forgedEntriesBehindAProxy() {
        return Stream.of(
                attempt("an entry before the proxy's", BEHIND_PROXY, n -> forwardedFor("1.1.1." + n + ", 203.0.113.7")),
                attempt(
                        "an internal entry before the proxy's",
                        BEHIND_PROXY,
                        n -> forwardedFor("127.0.0." + n + ", 203.0.113.7")),
                attempt(
                        "a line before the proxy's",
                        BEHIND_PROXY,
                        n -> forwardedFor("1.1.1." + n) + "\r\n" + forwardedFor("203.0.113.7")),
                attempt(
                        "a line in another case",
                        BEHIND_PROXY,
                        n -> "x-fOrWaRdEd-fOr: 1.1.1." + n + "\r\n" + forwardedFor("203.0.113.7")),
                attempt(
                        "the other header",
                        BEHIND_PROXY,
                        n -> "Forwarded: for=1.1.1." + n + "\r\n" + forwardedFor("203.0.113.7")),
                attempt(
                        "a thousand entries",
                        BEHIND_PROXY,
                        n -> forwardedFor(("1.1.1." + n + ",").repeat(1_000) + "203.0.113.7")),
                attempt("a huge entry", BEHIND_PROXY, n -> forwardedFor("x".repeat(100_000 + n) + ", 203.0.113.7")),
                attempt(
                        "quotes and brackets before the proxy's entry",
                        BEHIND_PROXY,
                        n -> forwardedFor("\"[" + n + ", 203.0.113.7")),
                attempt(
                        "an entry before that of a counted proxy",
                        WebKeys.clientAddress(ClientAddress.fromXForwardedFor(TrustedProxies.hops(1))),
                        n -> forwardedFor("1.1.1." + n + ", 203.0.113.7")),
                attempt(
                        "an element before the proxy's",
                        BEHIND_STANDARD_PROXY,
                        n -> "Forwarded: for=1.1.1." + n + ", for=203.0.113.7"),
                attempt(
                        "an open quote before the proxy's element",
                        BEHIND_STANDARD_PROXY,
                        n -> "Forwarded: for=\"1.1.1." + n + ", for=203.0.113.7"),
                attempt(
                        "an escape before the proxy's element",
                        BEHIND_STANDARD_PROXY,
                        n -> "Forwarded: for=\"1.1.1." + n + "\\, for=\"203.0.113.7\""),
                attempt(
                        "a host that looks like an element",
                        BEHIND_STANDARD_PROXY,
                        n -> "Forwarded: for=203.0.113.7;host=\"a\\\", for=1.1.1." + n + "\""),
                attempt(
                        "the other header to a proxy that sets Forwarded",
                        BEHIND_STANDARD_PROXY,
                        n -> forwardedFor("1.1.1." + n) + "\r\nForwarded: for=203.0.113.7"));
    }

    private static Stream<Attempt> oneAddressInManySpellings() {
        return Stream.of(
                attempt("another port", BEHIND_PROXY, n -> forwardedFor("203.0.113.7:" + (1024 + n))),
                attempt(
                        "another hidden port",
                        BEHIND_STANDARD_PROXY,
                        n -> "Forwarded: for=\"203.0.113.7:_p" + n + "\""),
                attempt("another interface of the IPv6 network", BEHIND_PROXY, n -> forwardedFor("2001:db8:1:2::" + n)),
                attempt("another zone", BEHIND_PROXY, n -> forwardedFor("fe80::1%eth" + n)),
                attempt(
                        "IPv6 spelled differently",
                        BEHIND_PROXY,
                        xForwardedForOneOf(
                                "2001:db8:0:0::1",
                                "2001:DB8::1",
                                "[2001:db8::1]",
                                "2001:0db8:0000:0000:0:0:0:1",
                                "[2001:db8::0.0.0.1]:80")),
                attempt(
                        "IPv4 in IPv6's clothes",
                        BEHIND_PROXY,
                        xForwardedForOneOf(
                                "203.0.113.7",
                                "::ffff:203.0.113.7",
                                "::FFFF:cb00:7107",
                                "[0:0:0:0:0:ffff:203.0.113.7]:1")),
                attempt("names instead of addresses", BEHIND_PROXY, n -> forwardedFor("1.1.1." + n + ", host" + n)),
                attempt("hidden names", BEHIND_STANDARD_PROXY, n -> "Forwarded: for=1.1.1." + n + ", for=_hidden" + n),
                attempt(
                        "octal, hexadecimal and short forms",
                        BEHIND_PROXY,
                        xForwardedForOneOf(
                                "0313.0.113.7", "0xcb.0.113.7", "203.0.28935", "3405803783", "203.0.113.007")));
    }

    private static Stream<Attempt> oneApiKeyInManySpellings() {
        return Stream.of(
                attempt(
                        "the header's name in another case",
                        API_KEY,
                        oneOf("X-Api-Key: s3cr3t", "x-api-key: s3cr3t", "X-API-KEY: s3cr3t", "x-aPI-kEY: s3cr3t")),
                attempt(
                        "blanks around the value",
                        API_KEY,
                        n -> "X-Api-Key:" + " ".repeat(n) + "s3cr3t" + "\t".repeat(n)),
                attempt(
                        "blanks beyond ASCII",
                        API_KEY,
                        oneOf("X-Api-Key: s3cr3t", "X-Api-Key: \u00a0s3cr3t", "X-Api-Key: s3cr3t\u0085")),
                attempt("a second header", API_KEY, n -> "X-Api-Key: s3cr3t" + (n < 6 ? "" : "\r\nX-Api-Key: " + n)),
                attempt(
                        "a first header",
                        API_KEY,
                        n -> (n < 6 ? "" : "X-Api-Key: " + n + "\r\n") + "X-Api-Key: s3cr3t"),
                attempt("an empty header", API_KEY, n -> (n < 6 ? "" : "X-Api-Key:\r\n") + "X-Api-Key: s3cr3t"),
                attempt(
                        "the same header many times",
                        API_KEY,
                        n -> "X-Api-Key: s3cr3t\r\n".repeat(n) + "X-Api-Key: s3cr3t"),
                attempt("only a second header", API_KEY, n -> "X-Api-Key: s3cr3t\r\nX-Api-Key: " + n)
                        .passing(0),
                new Attempt(
                        "header and parameter",
                        API_KEY_ANYWHERE,
                        n -> n % 2 == 0
                                ? "GET /?key=s3cr3t HTTP/1.1\r\nAccept: */*"
                                : "GET / HTTP/1.1\r\nX-Api-Key: s3cr3t"),
                attempt(
                        "a second header where a parameter would do too",
                        API_KEY_ANYWHERE,
                        n -> "X-Api-Key: s3cr3t" + (n < 6 ? "" : "\r\nX-Api-Key: " + n)),
                path(
                        "the parameter encoded",
                        WebKeys.apiKeyParameter("key"),
                        "/?key=s3cr3t",
                        "/?key=%733cr3t",
                        "/?%6bey=s3cr3%74",
                        "/?%6Bey=s3cr3t&x",
                        "/?key=s3cr3t+",
                        "/?key=%20s3cr3t"),
                path(
                        "a second parameter",
                        WebKeys.apiKeyParameter("key"),
                        n -> "/?key=s3cr3t" + (n < 6 ? "" : "&key=" + n)),
                path("other parameters", WebKeys.apiKeyParameter("key"), n -> "/?a=" + n + "&key=s3cr3t&Key=" + n),
                path("a query that cannot be decoded", WebKeys.apiKeyParameter("key"), n -> "/?key=s3cr3t&a=%zz" + n)
                        .passing(0),
                attempt("a huge API key", API_KEY, n -> "X-Api-Key: " + "s3cr3t".repeat(20_000)),
                attempt(
                        "the scheme of a token in another case",
                        WebKeys.bearerToken(),
                        oneOf(
                                "Authorization: Bearer t0k3n",
                                "authorization: bearer t0k3n",
                                "Authorization: BEARER    t0k3n",
                                "Authorization: bEARER \t t0k3n",
                                "Authorization: Bearer t0k3n==")),
                attempt(
                        "the signature of a JWT spelled differently",
                        WebKeys.bearerToken(),
                        n -> "Authorization: Bearer aa.bb.cc" + (char) ('a' + n)),
                attempt(
                        "a tenant in another case",
                        WebKeys.header("X-Tenant", value -> value.toLowerCase(Locale.ROOT)),
                        oneOf("X-Tenant: acme", "X-Tenant: ACME", "X-Tenant: Acme")));
    }

    private static Stream<Attempt> cookiesSessionsAndPaths() {
        WebKey sid = WebKeys.cookie("sid");
        WebKey user = WebKeys.pathVariable("/users/{id}", "id");
        return Stream.of(
                attempt(
                        "a cookie in quotes and among others",
                        sid,
                        oneOf(
                                "Cookie: sid=abc",
                                "Cookie: sid=\"abc\"",
                                "Cookie: a=b; sid=abc",
                                "Cookie: sid=abc; SID=x",
                                "Cookie:   sid=abc  ",
                                "Cookie: a=b\r\nCookie: sid=abc")),
                // One more bucket, which all such requests of all clients share.
                attempt("a second cookie", sid, n -> "Cookie: sid=abc" + (n < 6 ? "" : "; sid=" + n))
                        .passing(2 * LIMIT),
                attempt("a first cookie", sid, n -> "Cookie: sid=" + n + "; sid=abc"),
                attempt("no session", WebKeys.session(), n -> "Accept: */*")
                        .in(KeyBypasses::beginningSessions)
                        .passing(0),
                attempt("a session that is none", WebKeys.session(), n -> "Cookie: SESSION=" + n)
                        .in(KeyBypasses::beginningSessions)
                        .passing(0),
                path(
                        "a path variable encoded",
                        user,
                        "/users/alice",
                        "/users/%61lice",
                        "/users/%61%6C%69%63%65",
                        "/users/%61%6c%69%63%65"),
                path("matrix parameters", user, n -> "/users/alice;a=" + n),
                path("a query", user, n -> "/users/alice?a=" + n),
                path("blanks", user, n -> "/users/" + "%20".repeat(n) + "alice"),
                path("an absolute address", user, n -> "http://host" + n + "/users/alice"),
                path(
                                "paths that the pattern does not know",
                                user,
                                "//users/alice",
                                "/users/alice/",
                                "/users//alice",
                                "/./users/alice",
                                "/USERS/alice",
                                "/users%2Falice")
                        .passing(0));
    }

    private static WebHttpHandlerBuilder beginningSessions(WebHttpHandlerBuilder spring) {
        return spring.filter((exchange, chain) ->
                exchange.getSession().doOnNext(WebSession::start).then(chain.filter(exchange)));
    }

    /** All of them. */
    public static Stream<Bypass> attempts() {
        return Stream.of(
                        forgedAddresses(),
                        forgedEntriesBehindAProxy(),
                        oneAddressInManySpellings(),
                        oneApiKeyInManySpellings(),
                        cookiesSessionsAndPaths())
                .flatMap(group -> group)
                .map(attempt -> new Bypass(attempt.name(), () -> passing(attempt), attempt.passes()));
    }

    private static int passing(Attempt attempt) throws IOException {
        List<Answer> answers = new ArrayList<>();
        try (LimitedServer server = new LimitedServer(attempt.key(), attempt.netty(), attempt.spring())) {
            for (int n = 0; n < REQUESTS; n++) {
                answers.add(server.send(attempt.head().apply(n)));
            }
        }
        assertThat(answers).as(attempt.name()).extracting(Answer::status).isSubsetOf(200, 400, 403, 429);
        return (int) answers.stream().filter(answer -> answer.status() == 200).count();
    }
}
