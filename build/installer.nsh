; electron-builder's installer takes these macros in (nsis.include): what Repoconf has outside its own folder comes and goes
; with it. An update uninstalls the version before it, and keeps all that.

!macro customInstall
  WriteRegStr SHELL_CONTEXT "Software\Classes\repoconf" "" "URL:Repoconf"
  WriteRegStr SHELL_CONTEXT "Software\Classes\repoconf" "URL Protocol" ""
  WriteRegStr SHELL_CONTEXT "Software\Classes\repoconf\shell\open\command" "" '"$INSTDIR\${APP_EXECUTABLE_FILENAME}" "%1"'
!macroend

!macro customUnInstall
  ${ifNot} ${isUpdated}
    DeleteRegKey SHELL_CONTEXT "Software\Classes\repoconf"
    ; "Start at login", which Electron writes under the app's id (main/electron/boot.ts), and whether Windows lets it.
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Run" "${APP_ID}"
    DeleteRegValue HKCU "Software\Microsoft\Windows\CurrentVersion\Explorer\StartupApproved\Run" "${APP_ID}"
  ${endIf}
!macroend
