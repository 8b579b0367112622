{{- define "trimtab.name" -}}
{{- .Values.fullnameOverride | default (contains "trimtab" .Release.Name | ternary .Release.Name (printf "%s-trimtab" .Release.Name)) | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "trimtab.selector" -}}
app.kubernetes.io/name: trimtab
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "trimtab.labels" -}}
{{ include "trimtab.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: load-balancer-controller
{{- end -}}

{{- /* "": another provider; else all, allocator or director. */ -}}
{{- define "trimtab.role" -}}
{{- if eq .Values.cloud "local" -}}{{ .Values.local.role }}{{- end -}}
{{- end -}}

{{- define "trimtab.account" -}}
{{- .Values.serviceAccount.name | default (include "trimtab.name" .) -}}
{{- end -}}

{{- define "trimtab.config" -}}
{{- .Values.cloudConfig.existing | default (printf "%s-cloud-config" (include "trimtab.name" .)) -}}
{{- end -}}

{{- define "trimtab.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
