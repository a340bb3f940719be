package io.github.reactorratelimit.webflux;

import java.net.URI;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.http.HttpCookie;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.AbstractServerHttpRequest;
import org.springframework.http.server.reactive.SslInfo;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import reactor.core.publisher.Flux;

/** A request of the user ann with a server's request behind it, as requests of Reactor Netty have. */
final class NativeRequest extends AbstractServerHttpRequest {

    private final Object nativeRequest;

    NativeRequest(Object nativeRequest) {
        super(HttpMethod.GET, URI.create("/hello"), null, headers());
        this.nativeRequest = nativeRequest;
    }

    private static HttpHeaders headers() {
        HttpHeaders headers = new HttpHeaders();
        headers.set("X-User", "ann");
        return headers;
    }

    @Override
    protected MultiValueMap<String, HttpCookie> initCookies() {
        return new LinkedMultiValueMap<>();
    }

    @Override
    protected SslInfo initSslInfo() {
        return null;
    }

    @Override
    @SuppressWarnings("unchecked")
    public <T> T getNativeRequest() {
        return (T) nativeRequest;
    }

    @Override
    public Flux<DataBuffer> getBody() {
        return Flux.empty();
    }
}
